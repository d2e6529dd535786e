"""What can go wrong with a call, as a fixed catalogue of problem documents (RFC 9457)."""

from gristmill.api.problems.catalogue import CATALOGUE, Fault, Problem, ProblemKind, ProblemRaised, problem

__all__ = ["CATALOGUE", "Fault", "Problem", "ProblemKind", "ProblemRaised", "problem"]
