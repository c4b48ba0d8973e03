import re
from importlib.resources import files

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from aligngraph.errors import TeamError
from aligngraph.roles import Agent
from aligngraph.team import Team

ONE_AGENT = '[[agents]]\nname = "careful"\nmodel = "scripted:script.jsonl"\n'
PRINCIPAL = '[principal]\nmodel = "scripted:script.jsonl"\n'


def parse(text):
    return Team.parse(text, "team.toml")


def test_all_but_one_agent_and_the_principal_is_optional():
    team = parse(ONE_AGENT + PRINCIPAL)
    agent = team.agents[0]
    strategies = tuple(strategy.name for strategy in agent.strategies)
    assert (strategies, agent.samples, agent.temperature, agent.timeout_s, agent.price) == (
        ("step_by_step",),
        2,
        0.7,
        60,
        None,
    )
    assert (team.principal.ranker.name, team.principal.fallback) == ("listwise", ())
    assert (team.game.step_size, team.game.anchor, team.game.smoothing) == (1.0, "trust", 0.5)
    assert (team.game.max_steps, team.game.max_rounds, team.learning.mode) == (200, 1, "on")


def test_the_complete_team_file_of_the_contract_is_read():
    team = parse(
        """
        [[agents]]
        name = "careful"
        model = "openai:gpt-4.1-mini"
        strategies = ["step_by_step"]
        samples = 2
        temperature = 0.7
        timeout_s = 60
        price = { prompt = 0.4, completion = 1.6 }
        [[agents]]
        name = "served"
        model = { provider = "openai", name = "qwen", base_url = "http://127.0.0.1:8100/v1", api_key_env = "MY_KEY", max_tokens = 512 }
        [principal]
        model = "openai:gpt-4.1"
        ranker = "listwise"
        fallback = []
        [game]
        step_size = 1.0
        anchor = 0.4
        smoothing = 0.5
        max_steps = 200
        max_rounds = 1
        [learning]
        mode = "frozen"
        [budget]
        """
    )
    assert team.agents[0].price.completion == 1.6
    assert team.agents[1].model.base_url == "http://127.0.0.1:8100/v1"
    assert (team.game.anchor, team.learning.mode) == (0.4, "frozen")


@pytest.mark.parametrize("name", ["default_team.toml", "team_template.toml"])
def test_the_teams_in_the_package_are_valid(name):
    assert len(parse(files("aligngraph").joinpath(name).read_text()).agents) >= 2


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("agents = [", "not TOML"),
        ("seed = " + "1" * 5_000, "not TOML that can be read: "),
        ("agents = " + "[" * 5_000, "not TOML that can be read: "),
        (PRINCIPAL, "agents: Field required"),
        ("agents = []\n" + PRINCIPAL, "no agents: a team needs at least one [[agents]] table"),
        (ONE_AGENT, "principal: Field required"),
        (ONE_AGENT + ONE_AGENT + PRINCIPAL, "agent names must be unique: 'careful' occurs more than once"),
        (ONE_AGENT + "samples = 0\n" + PRINCIPAL, "agents[0].samples: Input should be greater than or equal to 1"),
        (ONE_AGENT + "sampels = 3\n" + PRINCIPAL, "agents[0].sampels: unknown key 'sampels'; did you mean 'samples'?"),
        (ONE_AGENT + PRINCIPAL + "[gmae]\n", "gmae: unknown key 'gmae'; did you mean 'game'?"),
        (
            ONE_AGENT + PRINCIPAL + "[game]\nstepsize = 1\n",
            "game.stepsize: unknown key 'stepsize'; did you mean 'step_size'?",
        ),
        (
            ONE_AGENT + "price = { promt = 1, completion = 1 }\n" + PRINCIPAL,
            "unknown key 'promt'; did you mean 'prompt'?",
        ),
        (
            ONE_AGENT + 'strategies = ["step_by_stop"]\n' + PRINCIPAL,
            "unknown strategy 'step_by_stop'; did you mean 'step_by_step'?",
        ),
        (ONE_AGENT + "strategies = []\n" + PRINCIPAL, "agents[0].strategies"),
        (ONE_AGENT + 'strategies = ["few_shot"]\n' + PRINCIPAL, "agents[0].strategies[0]: strategy 'few_shot' needs"),
        ("strategy_folder = 3\n" + ONE_AGENT + PRINCIPAL, "strategy_folder: Input should be a valid string"),
        (
            "allow_unsafe_programs = 3\n" + ONE_AGENT + PRINCIPAL,
            "allow_unsafe_programs: Input should be a valid boolean",
        ),
        (
            ONE_AGENT.replace("careful", "principal") + PRINCIPAL,
            "agent name 'principal' belongs to a node of the graph",
        ),
        (ONE_AGENT.replace("careful", "a:b") + PRINCIPAL, "agent name 'a:b': use up to 64 letters"),
        (ONE_AGENT.replace("careful", "") + PRINCIPAL, "agent name ''"),
        (ONE_AGENT + PRINCIPAL + "[game]\nanchor = -1\n", "game.anchor"),
        (ONE_AGENT + PRINCIPAL + "[game]\nstep_size = 0\n", "game.step_size"),
        (ONE_AGENT + PRINCIPAL + "[game]\nstep_size = inf\n", "game.step_size: Input should be a finite number"),
        (ONE_AGENT + PRINCIPAL + "[game]\nstep_size = 1001\n", "game.step_size"),
        (ONE_AGENT + PRINCIPAL + "[game]\nanchor = nan\n", "game.anchor"),
        (ONE_AGENT + PRINCIPAL + "[game]\nanchor = 1e7\n", "game.anchor"),
        (ONE_AGENT + PRINCIPAL + "[game]\nsmoothing = 1e7\n", "game.smoothing"),
        (ONE_AGENT + PRINCIPAL + "timeout_s = inf\n", "principal.timeout_s"),
        (ONE_AGENT + PRINCIPAL + "timeout_s = 86401\n", "principal.timeout_s"),
        (ONE_AGENT + "timeout_s = 86401\n" + PRINCIPAL, "agents[0].timeout_s"),
        (ONE_AGENT + "samples = 1001\n" + PRINCIPAL, "agents[0].samples"),
        (ONE_AGENT + "price = { prompt = inf, completion = 1 }\n" + PRINCIPAL, "agents[0].price.prompt"),
        (ONE_AGENT + "price = { prompt = 1.1e9, completion = 1 }\n" + PRINCIPAL, "agents[0].price.prompt"),
        (ONE_AGENT + "price = { prompt = 1, completion = 1e308 }\n" + PRINCIPAL, "agents[0].price.completion"),
        (ONE_AGENT + "price = { prompt = 1, completion = 1, cached = nan }\n" + PRINCIPAL, "agents[0].price.cached"),
        (
            ONE_AGENT + 'strategies = ["direct", "direct"]\n' + PRINCIPAL,
            "agents[0]: strategies must be unique: 'direct' occurs more than once",
        ),
        (
            ONE_AGENT + 'strategies = ["direct", "step_by_step"]\nsamples = 1\n' + PRINCIPAL,
            "agents[0]: 2 strategies, samples = 1: each needs a sample of its own",
        ),
        (ONE_AGENT + PRINCIPAL + '[learning]\nmode = "of"\n', "learning.mode"),
        (ONE_AGENT + PRINCIPAL + "[learning]\nhalf_life = 0.5\n", "learning.half_life: Input should be greater than"),
        (
            ONE_AGENT + PRINCIPAL + "[learning]\nhalf_life = inf\n",
            "learning.half_life: Input should be a finite number",
        ),
        (ONE_AGENT + PRINCIPAL + '[budget]\ndeal = "learnt"\n', "budget.deal: Input should be 'fixed' or 'learned'"),
        (
            ONE_AGENT + PRINCIPAL + "[privacy]\nstore_texts = false\n[cache]\nresponses = true\n",
            "cache.responses keeps texts, which privacy.store_texts = false forbids",
        ),
        (
            ONE_AGENT + '[principal]\nranker = "human"\n[privacy]\nstore_texts = false\n',
            "a run that waits for a person needs its texts",
        ),
        (ONE_AGENT + PRINCIPAL + "[privacy]\nencrypted = true\n", "unknown key 'encrypted'; did you mean 'encrypt'?"),
        (ONE_AGENT + PRINCIPAL + "[budget]\ncalls = 0\n", "budget.calls: Input should be greater than or equal to 1"),
        (ONE_AGENT.replace('"scripted:script.jsonl"', "3") + PRINCIPAL, "a model is a string"),
        (ONE_AGENT.replace("scripted:script.jsonl", "embedded:smollm2-135x") + PRINCIPAL, "smollm2-135m"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_place(text, finding):
    with pytest.raises(TeamError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith("team.toml: ")
    assert finding in message
    assert "\n" not in message


def test_tables_too_deep_for_files_to_be_sought_in_them_are_refused(tmp_path):
    with pytest.raises(TeamError, match=r"^team\.toml: not TOML that can be read: "):
        Team.parse("a" + ".a" * 3_000 + " = 1", "team.toml", folder=tmp_path)


def test_a_missing_file_and_one_that_is_not_text_are_named(tmp_path):
    with pytest.raises(TeamError, match=r"absent\.toml' cannot be read: No such file"):
        Team.load(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TeamError, match=r"binary\.toml' is not UTF-8 text"):
        Team.load(tmp_path / "binary.toml")


def test_explicit_beats_environment_beats_default(tmp_path, monkeypatch):
    for name in ("explicit", "environment"):
        (tmp_path / f"{name}.toml").write_text(ONE_AGENT.replace("careful", name) + PRINCIPAL)
    default = parse(files("aligngraph").joinpath("default_team.toml").read_text())
    for unset in (None, ""):
        monkeypatch.delenv("ALIGNGRAPH_TEAM", raising=False)
        if unset is not None:
            monkeypatch.setenv("ALIGNGRAPH_TEAM", unset)
        assert Team.load() == default
    monkeypatch.setenv("ALIGNGRAPH_TEAM", str(tmp_path / "environment.toml"))
    assert Team.load().agents[0].name == "environment"
    assert Team.load(tmp_path / "explicit.toml").agents[0].name == "explicit"


def test_files_of_models_lie_beside_the_team_file(tmp_path):
    (tmp_path / "team.toml").write_text(ONE_AGENT + PRINCIPAL)
    assert Team.load(tmp_path / "team.toml").agents[0].model.name == str(tmp_path / "script.jsonl")


def test_strategies_are_dealt_to_the_samples_in_turn():
    agent = parse(ONE_AGENT + 'strategies = ["direct", "step_by_step"]\nsamples = 3\n' + PRINCIPAL).agents[0]
    assert [agent.strategy(sample).name for sample in range(3)] == ["direct", "step_by_step", "direct"]


def test_no_secret_is_in_the_description(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    table = '{ provider = "openai", name = "m", api_key_env = "MY_KEY" }'
    team = parse(ONE_AGENT.replace('"scripted:script.jsonl"', table) + PRINCIPAL)
    assert "sk-secret" not in str(team.describe())
    assert team.describe()["agents"][0]["model"] == "openai:m"


def test_an_open_chat_model_can_be_an_agent():
    model = FakeListChatModel(responses=["Answer: 1"])
    assert Agent(name="a", model=model).model is model


@pytest.mark.parametrize("model", [RunnableLambda(str), FakeListChatModel, object(), None])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(ValidationError, match=r"got an object of type '\w+'; a model is a string such as"):
        Agent(name="a", model=model)


class TestArms:
    TEXT = ONE_AGENT + 'strategies = ["direct", "step_by_step"]\n' + PRINCIPAL

    def test_an_arm_is_a_strategy_of_an_agent_with_the_digest_of_what_it_is_made_of(self):
        arms = parse(self.TEXT).arms
        assert list(arms) == ["careful/direct", "careful/step_by_step"]
        assert all(re.fullmatch("[0-9a-f]{8}", made_of) for made_of in arms.values())
        assert len(set(arms.values())) == 2

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("samples = 2", "samples = 4"),
            ("temperature = 0.5", "temperature = 1.0"),
            ("timeout_s = 60", "timeout_s = 5"),
            ("price = { prompt = 1, completion = 1 }", ""),
            ('name = "careful"', 'name = "other"'),
        ],
    )
    def test_settings_that_change_nothing_about_who_it_is_leave_it(self, old, new):
        text = self.TEXT.replace(
            PRINCIPAL,
            f"samples = 2\ntemperature = 0.5\ntimeout_s = 60\nprice = {{ prompt = 1, completion = 1 }}\n{PRINCIPAL}",
        )
        assert old in text
        assert list(parse(text).arms.values()) == list(parse(text.replace(old, new)).arms.values())

    def test_another_model_is_another_arm(self):
        before, after = parse(self.TEXT).arms, parse(self.TEXT.replace("script.jsonl", "other.jsonl", 1)).arms
        assert list(before) == list(after)
        assert not set(before.values()) & set(after.values())

    def test_so_is_a_strategy_with_another_text(self, tmp_path):
        (tmp_path / "strategies").mkdir()
        found = []
        for words in ("Guess.", "Think."):
            (tmp_path / "strategies" / "own.md").write_text(words)
            team = Team.parse(ONE_AGENT + 'strategies = ["own"]\n' + PRINCIPAL, "team.toml", folder=tmp_path)
            found.append(team.arms["careful/own"])
        assert found[0] != found[1]

    def test_the_principal_is_what_its_judges_are_made_of(self):
        alone = parse(self.TEXT).principal
        panel = parse(f'{self.TEXT}[[principal.panel]]\nmodel = "scripted:second.jsonl"\n').principal
        assert list(alone.arms) == ["principal", alone.arm]
        assert len(panel.arms) == 3
        assert panel.arms[alone.arm] == alone.arms[alone.arm], "the judge is who it was, the panel is another principal"
        assert panel.arms["principal"] != alone.arms["principal"]


@pytest.mark.parametrize(("cap", "samples"), [("", 5), ("samples = 3\n", 3), ("samples = 9\n", 5)])
def test_a_team_draws_what_its_agents_draw_up_to_the_cap(cap, samples):
    second = ONE_AGENT.replace("careful", "quick") + "samples = 3\n"
    assert parse(ONE_AGENT + second + PRINCIPAL + f"[budget]\n{cap}").samples == samples


def test_learning_forgets_nothing_and_deals_nothing_unless_told_to():
    team = parse(ONE_AGENT + PRINCIPAL)
    assert (team.learning.half_life, team.budget.deal, team.privacy.store_texts, team.privacy.encrypt) == (
        None,
        "fixed",
        True,
        False,
    )


def test_what_is_kept_of_a_run_makes_no_other_team_but_what_is_asked_does():
    plain = parse(ONE_AGENT + PRINCIPAL).describe()
    assert parse(ONE_AGENT + PRINCIPAL + "[privacy]\nencrypt = true\n").describe() == plain
    assert parse(ONE_AGENT + PRINCIPAL + '[budget]\ndeal = "learned"\n').describe() != plain
