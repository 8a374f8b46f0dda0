"""Functions whose input is of types that hold themselves."""

from pydantic import BaseModel

from deltawire import function


class Step(BaseModel):
    name: str
    next: "Step | None"


class Sum(BaseModel):
    left: "Sum | Number"
    right: "Sum | Number"


class Number(BaseModel):
    value: int


@function(retries=0)
def walk(step: Step) -> str:
    """Walk the steps."""
    return repr(step)


@function(retries=0)
def compute(term: Sum | Number) -> str:
    """Compute a term."""
    return repr(term)
