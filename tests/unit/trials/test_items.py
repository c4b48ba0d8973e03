from aligngraph.answers import AnswerForm
from aligngraph.trials.items import RIGHT, WRONG, built_in_items


def test_there_are_twelve_items_of_different_names_and_tasks():
    items = built_in_items()
    assert len({item.name for item in items}) == len({item.task for item in items}) == 12


def test_f27_the_right_solution_is_clearly_longer_in_half_of_the_items_and_clearly_shorter_in_the_others():
    longer = [item.longer for item in built_in_items()]
    assert (longer.count("right"), longer.count("wrong")) == (6, 6)
    for item in built_in_items():
        lengths = sorted((len(item.right.solution), len(item.wrong.solution)))
        assert lengths[1] > 1.5 * lengths[0]


def test_every_solution_declares_its_answer_and_the_two_answers_differ():
    for item in built_in_items():
        form = AnswerForm.of(item.task, item.kind)
        for option in (item.right, item.wrong):
            assert option.solution.splitlines()[-1] == f"Answer: {option.answer}"
            assert form.same(form.extract(option.solution), option.answer)
        assert not form.same(item.right.answer, item.wrong.answer)


def test_the_arithmetic_of_the_right_answers_holds():
    answers = {item.name: item.right.answer for item in built_in_items()}
    assert int(answers["pencils"]) == 5 * 12 - 37
    assert int(answers["train"]) == (12 * 60 + 15) - (9 * 60 + 40)
    assert float(answers["discount"]) == 80 * 0.75
    assert int(answers["loop"]) == sum(range(1, 5))
    assert answers["weekday"] == ["Wednesday", "Thursday", "Friday", "Saturday"][10 % 7]
    assert float(answers["kilometres"]) == 3.5 * 1000
    assert int(answers["fence"]) == 2 * (9 + 4)
    assert 2 * int(answers["ages"]) + int(answers["ages"]) == 36
    assert answers["slice"] == "planet"[1:4]


def test_the_work_shows_the_right_solution_first_and_takes_another_wrong_one():
    item = built_in_items()[0]
    work = item.work(3, 900, wrong_solution="I guess.\nAnswer: 33")
    assert work.options[RIGHT] == item.right
    assert (work.options[WRONG].answer, work.options[WRONG].solution) == (item.wrong.answer, "I guess.\nAnswer: 33")
    assert (work.seed, work.max_solution_chars, work.form.kind) == (3, 900, item.kind)
    assert work.config["metadata"] == {"agent": "principal", "task": item.name}
    assert item.work(3, 900).options[WRONG] == item.wrong
    assert item.work(3, 900, wrong_solution="").options[WRONG].solution == "", "an empty text is a text"
