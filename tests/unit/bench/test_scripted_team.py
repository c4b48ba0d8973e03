from aligngraph import Team
from aligngraph.bench.scripted_team import ScriptedTeam


def test_its_team_file_is_one(tmp_path):
    team = Team.load(ScriptedTeam(agents=3, samples=2, latency_s=0.1).write(tmp_path))
    assert [(agent.name, agent.samples) for agent in team.agents] == [("agent0", 2), ("agent1", 2), ("agent2", 2)]


def test_its_calls_and_its_critical_path_are_those_of_one_round():
    team = ScriptedTeam(agents=8, samples=4, latency_s=0.2)
    assert (team.calls, team.critical_path_s) == (33, 0.4)
