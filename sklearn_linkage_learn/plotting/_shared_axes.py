"""Loss curves in the same axes: common labels, and texts that keep apart."""

from ._common import label_parameter_axis

# In points: distance of a text from its mark, its height, its width with some space,
# and how far from its mark it can be understood.
_BESIDE, _TEXT_HEIGHT, _TEXT_WIDTH, _MOST_SHIFT = 6, 10, 40, 20
# matplotlib looks at all of them for the best place of a legend, many times.
_MOST_PIECES = 20_000


def arrange(ax):
    """Lay out what the displays of loss curves in these axes share."""
    displays = [
        patch.loss_curve_display
        for patch in ax.patches
        if hasattr(patch, "loss_curve_display")
    ]
    # A display that was drawn again has several curves here.
    displays = list({id(display): display for display in displays}.values())
    label_parameter_axis(
        ax,
        [display.names for display in displays],
        [display.parameter for display in displays],
    )
    ax.margins(y=0.1)
    losses = {display.loss_name for display in displays}
    loss = losses.pop() if len(losses) == 1 else None
    ax.set_ylabel(f"mean {loss} loss" if loss else "mean loss")
    if len(displays) == 1:
        ax.legend(loc=_place_of_legend(displays), fontsize="small", frameon=False)
    else:
        _draw_legend(ax, displays)
    _separate_texts(ax, displays)


def _place_of_legend(displays):
    """Where nothing is covered, unless it would take too long to find that."""
    n_pieces = sum(display.curve.n_pieces for display in displays)
    return "best" if n_pieces <= _MOST_PIECES else "upper right"


def _draw_legend(ax, displays):
    """One entry for each curve with its optimum, and one for all bands."""
    from matplotlib.patches import Patch

    drawn, entries = set(), {}
    for display in displays:
        drawn |= {display.line_, display.band_, display.optimum_}
        label = f"{display.name_}: {display.optimum_.get_label()}"
        entries[label] = display.line_, display.optimum_
    for display in displays:
        if display.band_ is not None:
            entries[display.band_.get_label()] = Patch(facecolor="0.5", alpha=0.3)
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        if handle not in drawn:
            entries[label] = handle
    ax.legend(
        list(entries.values()),
        list(entries),
        loc=_place_of_legend(displays),
        fontsize="small",
        frameon=False,
    )


def _separate_texts(ax, displays):
    """Put the losses of the ends beside their marks, one above the other.

    A text that would get far from its mark, or say the same again, is hidden.
    """
    ax.autoscale_view()
    to_points = 72 / ax.figure.dpi
    room = _TEXT_WIDTH / (ax.get_window_extent().width * to_points)
    # Both sides together take at most half of the axes.
    room = min(room, 0.25)
    ax.set_xlim(-room / (1 - 2 * room), 1 + room / (1 - 2 * room))
    for end, side in [(0, -1), (1, 1)]:
        marks = [
            (ax.transData.transform(display.texts_[end].xy)[1] * to_points, display)
            for display in displays
        ]
        lowest, shown = -float("inf"), set()
        for height, display in sorted(marks, key=lambda mark: mark[0]):
            text = display.texts_[end]
            shift = max(0.0, lowest - height)
            same = text.get_text() in shown
            text.set(
                visible=shift <= _MOST_SHIFT and not same,
                color=display.line_.get_edgecolor(),
                position=(side * _BESIDE, shift),
                ha="left" if side > 0 else "right",
                va="center",
            )
            if text.get_visible():
                lowest = height + shift + _TEXT_HEIGHT
                shown.add(text.get_text())
