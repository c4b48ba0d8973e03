"""The delegation game once more, slowly: loops over plain numbers, each line as the formula is written on paper.

It shares nothing with the package, not even numpy. Run as a script, it prints what game_small.json holds.
"""

import json
import math
import sys
from fractions import Fraction

HALF = Fraction(1, 2)
STEPS = (1, 2, 10, 60)


def complemented(upper):
    """Return the preference matrix whose entries above the diagonal are the rows of `upper`."""
    answers = len(upper) + 1
    matrix = [[HALF] * answers for _ in range(answers)]
    for y, row in enumerate(upper):
        for offset, share in enumerate(row):
            matrix[y][y + 1 + offset] = Fraction(share)
            matrix[y + 1 + offset][y] = 1 - Fraction(share)
    return matrix


def smoothed(counts, smoothing):
    """Return the initial policies as exact fractions."""
    policies = []
    for row in counts:
        total, answers = sum(row), len(row)
        policies.append([(Fraction(n, total) + smoothing / answers) / (1 + smoothing) for n in row])
    return policies


def payoffs(policies, preference, initial):
    """Return what each answer pays each agent against the mean of the others, or against itself of old when alone."""
    paid = []
    for i in range(len(policies)):
        others = [policy for j, policy in enumerate(policies) if j != i] or [initial[0]]
        met = [math.fsum(policy[z] for policy in others) / len(others) for z in range(len(preference))]
        paid.append([math.fsum(m * p for m, p in zip(met, row, strict=True)) for row in preference])
    return paid


def moved(policy, paid, anchor_policy, eta, lam):
    """Return one agent's next policy."""
    exponents = []
    for now, before, reward in zip(policy, anchor_policy, paid, strict=True):
        exponents.append((math.log(now) + eta * lam * math.log(before) + eta * reward) / (1 + eta * lam))
    total = math.fsum(math.exp(e) for e in exponents)
    return [math.exp(e) / total for e in exponents]


def inner(a, b):
    """Return the inner product."""
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def gap(policy, paid):
    """Return what a best response would gain."""
    return max(paid) - inner(policy, paid)


def anchored_gap(policy, paid, initial, lam):
    """Return what a best response would gain when leaving the initial policy costs lam per nat."""
    if lam == 0:
        return gap(policy, paid)
    tilted = [p * math.exp(reward / lam) for p, reward in zip(initial, paid, strict=True)]
    best = [weight / math.fsum(tilted) for weight in tilted]
    return worth(best, paid, initial, lam) - worth(policy, paid, initial, lam)


def worth(policy, paid, initial, lam):
    """Return the anchored payoff of a policy."""
    return inner(policy, paid) - lam * math.fsum(p * math.log(p / q) for p, q in zip(policy, initial, strict=True))


def outcome(case, steps):
    """Return the fields of the outcome after `steps` steps."""
    eta, lam = float(case["step_size"]), float(case["anchor"])
    preference = [[float(p) for p in row] for row in case["preference"]]
    initial = [[float(p) for p in row] for row in smoothed(case["counts"], case["smoothing"])]
    policies, history = initial, []
    for _ in range(steps):
        paid = payoffs(policies, preference, initial)
        history.append((policies, paid))
        policies = [moved(p, u, a, eta, lam) for p, u, a in zip(policies, paid, initial, strict=True)]
    return fields(policies, payoffs(policies, preference, initial), initial, history, eta, lam)


def fields(policies, paid, initial, history, eta, lam):
    """Return the fields of an outcome from the last policies and everything before."""
    regrets, bounds = [], []
    for i, start in enumerate(initial):
        totals = [math.fsum(past[i][y] for _, past in history) for y in range(len(start))]
        best = totals.index(max(totals))
        regrets.append(totals[best] - math.fsum(inner(p[i], u[i]) for p, u in history))
        bounds.append(math.log(1 / start[best]) * (1 / eta + lam * len(history)) + eta * len(history) / 8)
    gaps = [gap(p, u) for p, u in zip(policies, paid, strict=True)]
    anchored = [anchored_gap(p, u, q, lam) for p, u, q in zip(policies, paid, initial, strict=True)]
    return {
        "policy": policies,
        "payoff": paid,
        "regret": regrets,
        "regret_bound": bounds,
        "nash_gap": gaps,
        "nash_conv": math.fsum(gaps),
        "anchored_nash_conv": math.fsum(anchored),
    }


def case(name, counts, upper, step_size="1", anchor="3/10", smoothing="1/2"):
    """Return the inputs of a case; numbers are written as fractions."""
    return {
        "name": name,
        "counts": counts,
        "preference": complemented([[Fraction(p) for p in row] for row in upper]),
        "step_size": Fraction(step_size),
        "anchor": Fraction(anchor),
        "smoothing": Fraction(smoothing),
    }


CASES = [
    case("two agents disagree", [[2, 1], [0, 3]], [["3/4"]]),
    case("cycle, anchored", [[3, 1, 0], [0, 2, 1]], [["1", "0"], ["1"]], anchor="1/4"),
    case("cycle, no anchor", [[3, 1, 0], [0, 2, 1]], [["1", "0"], ["1"]], step_size="1/5", anchor="0"),
    case("no preference", [[4, 0, 1], [1, 1, 0], [0, 2, 2]], [["1/2", "1/2"], ["1/2"]]),
    case("alone", [[1, 4, 2]], [["2/3", "1/5"], ["9/10"]]),
    case("one answer", [[3], [1]], []),
    case(
        "five agents",
        [[5, 0, 0, 1], [0, 1, 0, 0], [2, 2, 2, 2], [0, 0, 7, 1], [1, 0, 3, 0]],
        [["3/5", "1/3", "1"], ["1/8", "1/2"], ["7/9"]],
        step_size="2",
        anchor="1/10",
        smoothing="2",
    ),
]


def golden():
    """Return the content of game_small.json."""
    exact = ("step_size", "anchor", "smoothing")
    return {
        "cases": [
            inputs
            | {name: float(inputs[name]) for name in exact}
            | {"preference": [[float(p) for p in row] for row in inputs["preference"]]}
            | {"initial_policy": [[float(p) for p in row] for row in smoothed(inputs["counts"], inputs["smoothing"])]}
            | {f"after_{steps}": outcome(inputs, steps) for steps in STEPS}
            for inputs in CASES
        ]
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(golden(), indent=1) + "\n")
