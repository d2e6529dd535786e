"""The dead-letter desk: what people do with records that were given up, for every face alike."""

from gristmill.api.desk.closing import close_letters
from gristmill.api.desk.desk import Desk
from gristmill.api.desk.editing import Trial, TrialRun, check_payload, edit_letter, try_letter

__all__ = ["Desk", "Trial", "TrialRun", "check_payload", "close_letters", "edit_letter", "try_letter"]
