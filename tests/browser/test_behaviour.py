"""What report pages do when they are searched, pointed at, sorted and folded."""

import pytest

from spinney.corpus import sentence_arrays
from spinney.lm.smoothing import fit_ngram
from spinney.report.charts import heat_map, line_chart
from spinney.report.html import view_page
from spinney.report.maps import word_map
from spinney.report.outline import outline
from spinney.report.page import Page, Section, table
from spinney.views import Node, Point, grown

HOSTILE = '</script><img src=x onerror="alert(1)">'
FRUITS = [
    "apple",
    "pear",
    "plum",
    "cherry",
    "fig",
    "grape",
    "lime",
    "kiwi",
    "date",
    "peach",
    "melon",
    "olive",
]


def page_of(*blocks):
    return Page("Title", "", {}, [Section("Part", blocks)]).html()


@pytest.fixture(scope="module")
def fruit_map():
    """Twelve words in three rows; each is next to the one that follows."""
    points = [
        Point(
            word,
            i % 4 / 3,
            i // 4 / 2,
            i % 3,
            f"seen {100 - i} times",
            [(FRUITS[(i + 1) % 12], 0.9), (HOSTILE, 0.1)],
        )
        for i, word in enumerate(FRUITS)
    ]
    return page_of(word_map([*points, Point(HOSTILE, 0.5, 0.5, note=HOSTILE)]))


def shown(page, style):
    return page.locator(f".names text.{style}").all_text_contents()


def box_of(page, word):
    """The middle of the dot of a word."""
    i = page.locator(".names text").all_text_contents().index(word)
    box = page.locator(".dots circle").nth(i).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_search_finds_the_word_and_only_it(opened, fruit_map):
    with opened(fruit_map) as page:
        box = page.get_by_label("Find a word on the map")
        box.fill("Plum")
        assert shown(page, "found") == ["plum"]
        assert page.locator(".map output").text_content() == "1 word"
        assert page.locator(".card .name").text_content() == "plum"
        frame, (x, y) = page.locator(".map svg").bounding_box(), box_of(page, "plum")
        assert frame["x"] < x < frame["x"] + frame["width"]
        assert frame["y"] < y < frame["y"] + frame["height"]
        box.fill("p")  # words that begin so
        assert shown(page, "found") == ["pear", "plum", "peach"]
        box.fill("rap")  # or else that hold it
        assert shown(page, "found") == ["grape"]
        box.fill("xyz")
        assert page.locator(".map output").text_content() == "not on the map"
        page.get_by_role("button", name="Whole map").click()
        assert shown(page, "found") == []
        assert box.input_value() == ""


def test_the_pointer_shows_a_word_and_its_neighbours(opened, fruit_map):
    with opened(fruit_map) as page:
        page.locator(".map").scroll_into_view_if_needed()
        page.mouse.move(*box_of(page, "fig"))
        card = page.locator(".card")
        assert card.locator(".name").text_content() == "fig"
        assert "seen 96 times" in card.text_content()
        assert card.locator("li").all_text_contents() == ["grape 0.90", f"{HOSTILE} 0.10"]
        assert shown(page, "chosen") == ["fig"]
        assert set(shown(page, "near")) == {"grape", HOSTILE[:23] + "…"}
        page.mouse.move(2, 2)
        assert shown(page, "chosen") == []
        page.mouse.click(*box_of(page, "fig"))  # stays
        page.mouse.move(2, 2)
        assert shown(page, "chosen") == ["fig"]
        card.get_by_role("button", name="grape").click()
        assert shown(page, "chosen") == ["grape"]
        page.locator(".map svg").focus()
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowRight")
        first = shown(page, "chosen")
        page.keyboard.press("ArrowUp")
        assert len(first) == 1
        assert shown(page, "chosen") != first


def test_a_tap_shows_a_word(opened, fruit_map):
    with opened(fruit_map, width=390, touch=True) as page:
        page.locator(".map").scroll_into_view_if_needed()
        page.touchscreen.tap(*box_of(page, "date"))
        assert shown(page, "chosen") == ["date"]


def test_a_map_is_drawn_nearer(opened, fruit_map):
    with opened(fruit_map) as page:
        apart = lambda: box_of(page, "pear")[0] - box_of(page, "apple")[0]  # noqa: E731
        before = apart()
        page.get_by_role("button", name="Zoom in").click()
        assert apart() == pytest.approx(1.5 * before, rel=0.01)
        page.get_by_role("button", name="Zoom out").click()
        assert apart() == pytest.approx(before, rel=0.01)
        page.locator(".map svg").hover()
        page.keyboard.down("Control")
        page.mouse.wheel(0, -300)
        page.keyboard.up("Control")
        page.wait_for_function("document.querySelector('.map circle').getAttribute('cx') < 0")


def test_labels_do_not_lie_on_each_other(opened):
    points = [Point(f"word{i}", (i * 37 % 100) / 100, (i * 61 % 100) / 100) for i in range(200)]
    with opened(page_of(word_map(points)), width=390) as page:
        boxes = page.evaluate(
            "[...document.querySelectorAll('.names text:not(.mute)')].map(t => t.getBBox())"
            ".map(b => [b.x, b.y + 3, b.x + b.width, b.y + b.height - 3])"
        )
        assert 10 < len(boxes) < 200
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                assert not (a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3])


def test_tables_are_filtered_and_sorted(opened):
    rows = [[word, i, f"note {word}"] for i, word in enumerate(FRUITS)]
    with opened(page_of(table(["word", "n", "note"], rows))) as page:
        seen = page.locator("tbody tr:visible td:first-child")
        page.get_by_label("Filter the rows").fill("note pe")
        assert seen.all_text_contents() == ["pear", "grape", "peach"]
        assert page.locator("output").text_content() == "3 of 12 rows"
        page.get_by_label("Filter the rows").fill("")
        page.get_by_role("button", name="n", exact=True).click()
        assert seen.first.text_content() == "olive"  # numbers from the largest
        page.get_by_role("button", name="word").click()
        assert seen.all_text_contents() == sorted(FRUITS)
        page.get_by_role("button", name="word").click()
        assert seen.all_text_contents() == sorted(FRUITS, reverse=True)


def test_long_tables_show_their_first_rows(opened):
    rows = [[f"w{i}", i] for i in range(60)]
    with opened(page_of(table(["word", "n"], rows))) as page:
        seen, told = page.locator("tbody tr:visible"), page.locator("output")
        assert (seen.count(), told.text_content()) == (25, "25 of 60 rows")
        page.get_by_label("Filter the rows").fill("w4")  # looks at all of them
        assert (seen.count(), told.text_content()) == (11, "11 of 60 rows")
        page.get_by_label("Filter the rows").fill("")
        page.get_by_role("button", name="n", exact=True).click()
        assert seen.first.text_content() == "w5959"
        page.get_by_role("button", name="Show all").click()
        assert (seen.count(), told.text_content()) == (60, "60 rows")


def test_heat_maps_read_out_their_cells(opened):
    drawn = heat_map([[0.25, -0.5], [float("nan"), 1.0]], ["one", HOSTILE], ["a", "b"], caption="cells")
    with opened(page_of(drawn)) as page:
        told, first = page.locator(".heat .readout"), page.locator(".heat rect").first.bounding_box()
        page.mouse.move(first["x"] + 5, first["y"] + 5)
        assert told.text_content() == "one → a: 0.25"
        page.mouse.move(first["x"] + 45, first["y"] + 45)
        assert told.text_content() == f"{HOSTILE} → b: 1"
        page.mouse.move(1, 1)
        assert told.text_content() == ""
        page.get_by_label("cells").focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
            page.keyboard.press(key)
        assert told.text_content() == f"{HOSTILE} → a: –"


def test_large_heat_maps_fit_their_labels(opened):
    names = [f"class {i}, of words" for i in range(40)]
    values = [[(i * j % 7) / 7 for j in range(40)] for i in range(40)]
    for width in (1280, 390):
        with opened(page_of(heat_map(values, names, names)), width=width) as page:
            frame = page.locator(".heat svg").bounding_box()
            for box in (page.locator(".heat text").nth(i).bounding_box() for i in (0, 39, 40, 79)):
                assert box["x"] >= frame["x"]
                assert box["y"] >= frame["y"]
                assert box["x"] + box["width"] <= frame["x"] + frame["width"]
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_line_charts_read_out_their_values(opened):
    drawn = line_chart(
        {"oil": [0.5, 1.5, 2.5], "tax": [1.0, float("nan"), -1.0]}, [1996, 1997, 1998], caption="lines"
    )
    with opened(page_of(drawn)) as page:
        told, values = page.locator(".chart .readout"), page.locator(".legend b")
        frame = page.locator(".chart svg").first.bounding_box()
        page.mouse.move(frame["x"] + 0.54 * frame["width"], frame["y"] + 50)
        assert (told.text_content(), values.all_text_contents()) == ("1997", ["1.5", ""])
        page.mouse.move(1, 1)
        assert told.text_content() == ""
        page.get_by_label("lines").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        assert told.text_content() == "1997"


def test_trees_fold_and_are_filtered(opened):
    #                root 6: (4: apple pear) (5: plum cherry)
    nodes = [Node("apple"), Node("pear"), Node("plum", HOSTILE), Node("cherry"), Node("stones", "hard")]
    tree = grown([5, 5, 4, 4, 6, 6, -1], nodes, range(7))
    with opened(page_of(outline(tree, leaves="fruits"))) as page:
        leaves = page.locator("li.leaf:visible")
        assert leaves.count() == 4
        page.locator("summary").nth(1).click()
        assert leaves.all_text_contents() == ["apple", "pear"]
        page.get_by_role("button", name="Open all").click()
        assert leaves.count() == 4
        page.get_by_role("button", name="Close all").click()
        assert leaves.count() == 0
        box = page.get_by_label("Filter the leaves")
        box.fill("plum")
        assert leaves.all_text_contents() == [f"plum {HOSTILE}"]
        assert page.locator("output").text_content() == "1 found"
        box.fill("hard")  # a branch with a name
        assert page.locator("summary:visible").count() == 2
        box.fill("")
        assert leaves.count() == 4
        assert page.locator("output").text_content() == "4 fruits"


def test_the_explorer_of_a_language_model_finds_a_context(opened):
    text = sentence_arrays(
        [["a", "rose", "is", "red"], ["the", "rose", "is", "a", "rose"]] * 3, unknown="<unk>"
    )
    with opened(view_page("roses", fit_ngram(text, "witten-bell", order=3).report_views()).html()) as page:
        explorer = page.locator(".explorer")
        explorer.locator("input").fill("never seen rose is")
        assert "rose is" in explorer.locator(".readout").text_content()
        assert set(explorer.locator("tbody button").all_text_contents()[:2]) == {"red", "a"}


def test_hostile_words_stay_words(opened, fruit_map):
    with opened(fruit_map) as page:
        page.get_by_label("Find a word on the map").fill(HOSTILE)
        assert page.locator(".card .name").text_content() == HOSTILE
        assert page.locator("img").count() == 0
