"""Two tasks: one measures a text, the other labels what was measured."""

from msgspec import Struct

from gristmill import Item, Label, Plan, Skip, cell, kept, task


@cell("measure")
class Measure(Struct, frozen=True):
    """How long a text is, and how much of it is capitals."""

    words: int
    capitals: float


@kept
class Tone(Struct, frozen=True):
    """Only labels, which are stored by themselves; so the rest may go with the run."""

    labels: tuple[Label, ...] = ()


@task
def measure(item: Item) -> Measure | Skip:
    letters = [character for character in item.text if character.isalpha()]
    if not letters:
        return Skip("no letters to look at")
    capitals = sum(character.isupper() for character in letters)
    return Measure(len(item.text.split()), round(capitals / len(letters), 2))


@task
def tone(item: Item, measured: Measure, *, loud: float = 0.7, wordy: int = 25) -> Tone:
    labels: list[Label] = []
    if measured.capitals >= loud and measured.words > 1:
        labels.append(Label("shouting", measured.capitals, f"{measured.capitals:.0%} of the letters are capitals"))
    if item.text.rstrip().endswith("?"):
        labels.append(Label("question", 1.0, "ends with a question mark", (item.text.split()[-1],)))
    if measured.words > wordy:
        labels.append(Label("wordy", 0.8, f"{measured.words} words"))
    return Tone(tuple(labels))


plan = Plan("hello", tasks=[measure, tone.use(wordy=20)])
