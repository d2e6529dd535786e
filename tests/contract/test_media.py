"""Fetchers, readers and models of pictures hold their contracts, fakes included."""

from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry

from gristmill.adapters.egress import AddressPolicy, EgressMetrics, GuardedEgress
from gristmill.adapters.media import ChildImageReader, GuardedFetcher, OpenNsfw, ReaderLimits, ReaderMetrics
from gristmill.testing.clock import FakeClock
from gristmill.testing.media import (
    FakeFetcher,
    FakeImageModel,
    FakeImageReader,
    ImageModelContract,
    ImageReaderContract,
    InlineFetcherContract,
    MediaFetcherContract,
)

MODEL = OpenNsfw()
"""Loaded by the first test that uses it."""


class TestGuardedFetcher(InlineFetcherContract):
    @pytest.fixture
    def media_fetcher(self) -> GuardedFetcher:
        egress = GuardedEgress(AddressPolicy(), metrics=EgressMetrics(CollectorRegistry()))
        return GuardedFetcher(egress, clock=FakeClock())


class TestFakeFetcher(MediaFetcherContract):
    @pytest.fixture
    def media_fetcher(self) -> FakeFetcher:
        return FakeFetcher({})


class TestChildImageReader(ImageReaderContract):
    @pytest.fixture
    async def image_reader(self) -> AsyncIterator[ChildImageReader]:
        reader = ChildImageReader(metrics=ReaderMetrics(CollectorRegistry()), limits=ReaderLimits(children=1))
        yield reader
        await reader.close()


class TestFakeImageReader(ImageReaderContract):
    @pytest.fixture
    def image_reader(self) -> FakeImageReader:
        return FakeImageReader()


class TestOpenNsfw(ImageModelContract):
    @pytest.fixture
    def image_model(self) -> OpenNsfw:
        return MODEL


class TestFakeImageModel(ImageModelContract):
    @pytest.fixture
    def image_model(self) -> FakeImageModel:
        return FakeImageModel()
