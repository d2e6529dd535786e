"""Sends what was committed to be sent, and finds what was lost behind that."""

from gristmill.intake.outbox.metrics import OutboxMetrics
from gristmill.intake.outbox.pump import OutboxPump
from gristmill.intake.outbox.reconciler import Reconciler

__all__ = ["OutboxMetrics", "OutboxPump", "Reconciler"]
