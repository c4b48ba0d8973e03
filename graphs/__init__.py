"""The graphs: wiring only, a file per graph."""

from aligngraph.graphs.delegation import DelegationGraph, build_delegation, make_graph, wire_delegation

__all__ = ["DelegationGraph", "build_delegation", "make_graph", "wire_delegation"]
