"""Failures met on AWS Lambda, which is no entry point yet."""

import pytest

_LATER = pytest.mark.xfail(reason="there is no entry point for Lambda yet", raises=NotImplementedError, strict=True)


@_LATER
def test_lm_01_bodies_come_in_every_form() -> None:
    raise NotImplementedError


@_LATER
def test_lm_03_a_stage_is_no_part_of_the_path() -> None:
    raise NotImplementedError


@_LATER
def test_lm_04_events_that_are_no_http_are_told_so() -> None:
    raise NotImplementedError


@_LATER
def test_lm_05_a_run_ends_before_its_gateway_gives_up() -> None:
    raise NotImplementedError


@_LATER
def test_lm_06_a_reply_that_is_too_large_is_told_so() -> None:
    raise NotImplementedError
