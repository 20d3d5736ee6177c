"""Other models beside the fit, in volatilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from slisde.data.smile import SmileQuotes, SmileScore, model_volatility, score, score_of
from slisde.report.content import Rival


@dataclass(frozen=True)
class RivalFit:
    """What another model makes of the quotes.

    Attributes:
        name: the model.
        volatility: of its prices, in the order of the quotes.
        scores: as those of the fit.
    """

    name: str
    volatility: Float[np.ndarray, " quote"]
    scores: Sequence[SmileScore]

    def of(self, maturity: float | None, *, held_out: bool) -> SmileScore | None:
        """Return the score of an expiry, or of all; None where it has no such quotes."""
        return score_of(self.scores, maturity, held_out=held_out)


def rival_fits(rivals: Sequence[Rival], quotes: SmileQuotes) -> list[RivalFit]:
    """Return the fits of other models to the quotes."""
    return [
        RivalFit(rival.name, model_volatility(rival.price, quotes), score(rival.price, quotes))
        for rival in rivals
    ]
