"""What content says reaches the eye of a person, never the terminal."""

import io

from rich.table import Table

from gristmill.cli.consoles import plain_console, write_out_steering

HOSTILE = "a\x1b[2J\x1b]0;title\x07b\u009b31mc\u202ed\r"


def test_signs_that_steer_a_terminal_are_written_out() -> None:
    assert write_out_steering(HOSTILE) == r"a\x1b[2J\x1b]0;title\x07b\x9b31mc\u202ed\r"
    assert write_out_steering("two\tlines\nof שלום and 你好") == "two\tlines\nof שלום and 你好"


def test_no_line_and_no_cell_passes_them_on() -> None:
    console = plain_console()
    console.file = io.StringIO()
    table = Table("name")
    table.add_row(HOSTILE)
    console.print(HOSTILE)
    console.print(table)
    told = console.file.getvalue()
    assert told.count(write_out_steering(HOSTILE)) == 2
    assert not set(told) & set("\x1b\x07\u009b\u202e\r")
