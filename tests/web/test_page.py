"""SPEC section 12, sentence by sentence, and what a page must not do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Response, Route, expect
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from palimpsest.core.errors import UnknownModelError
from palimpsest.session.agent_session import AgentSession
from palimpsest.session.host import SessionHost
from palimpsest.session.manager import SessionManager
from palimpsest.session.store import Commit
from palimpsest.testing import Call, Gate, Reply
from tests.session.helpers import work
from tests.session.waiting import until
from tests.web.browser import Site, needs_browser, site, site_of
from tests.web.hostile import HOSTILE
from tests.web.served import sessions

pytestmark = [pytest.mark.anyio, needs_browser]

AXE = Path(__file__).parents[2] / "web-ui" / "node_modules" / "axe-core" / "axe.min.js"
LONG: dict[str, Any] = {"characters": 400, "prose": 9_000}


async def worked(found: Site, turns: int) -> AgentSession:
    """A session with some turns behind it."""
    session = await found.host.draft()
    for turn in range(turns):
        await session.prompt(f"do part {turn}")
    return session


async def stored(project: Path, *, messages: int) -> str:
    """A session of the project that was never compacted, closed; gives its id."""
    manager = SessionManager.create(project)
    store = await manager.open_store()
    turns = [
        message
        for turn in range(messages // 2)
        for message in (
            ModelRequest(parts=[UserPromptPart(content=f"part {turn}")]),
            ModelResponse(parts=[TextPart(content=f"answer {turn}")]),
        )
    ]
    await store.commit(Commit(messages=tuple(turns)))
    await store.close()
    assert manager.path is not None
    return manager.path.stem


def composer(page: Page) -> Any:
    return page.get_by_role("textbox", name="Prompt")


def menu(page: Page) -> Any:
    return page.get_by_role("listbox", name="Commands")


async def to_the_top(page: Page) -> None:
    await page.get_by_role("log").hover()
    await page.mouse.wheel(0, -10_000_000)


async def prompts(session: AgentSession) -> list[str]:
    return [
        str(part.content)
        for message in session.messages
        for part in message.parts
        if part.part_kind == "user-prompt"
    ]


# --- the composer --------------------------------------------------------------------------------


async def test_a_person_works_from_the_first_page_on(project: Path) -> None:
    async with site([Reply(text="It is **done**.")], project) as found:
        page = await found.page()
        await page.get_by_role("main").get_by_role("button", name="New session").click()
        await composer(page).fill("Why does the date test fail?")
        await composer(page).press("Enter")
        await expect(page.get_by_role("article", name="You")).to_contain_text("date test")
        await expect(page.get_by_role("article", name="Agent").locator("strong")).to_have_text(
            "done"
        )
        await expect(composer(page)).to_have_value("")
        await page.get_by_role("textbox", name="Title").fill("Dates")
        await page.get_by_role("textbox", name="Title").press("Enter")
        listed = page.get_by_role("navigation", name="Sessions").get_by_role("button", name="Dates")
        await expect(listed).to_have_attribute("aria-current", "page")


@pytest.mark.parametrize("typed", ["/", "/c", "/comp", "/compact"])
async def test_the_menu_offers_compact_with_the_context_share(project: Path, typed: str) -> None:
    async with site(work(3, **LONG), project) as found:
        session = await worked(found, 3)
        page = await found.page(session)
        await composer(page).fill(typed)
        option = menu(page).get_by_role("option").first
        state = session.state.context_budget
        share = round(state.size.tokens / state.budget.window * 100)
        await expect(option).to_contain_text("Compact")
        await expect(option).to_contain_text(f"{share} %")
        await expect(option.get_by_role("img", name=f"Context {share} % full")).to_be_visible()
        await composer(page).press("Escape")
        await expect(menu(page)).to_have_count(0)
        await expect(composer(page)).to_have_value(typed)


@pytest.mark.parametrize("how", ["Enter", "Tab", "click", "submit"])
async def test_each_way_starts_a_compaction(project: Path, how: str) -> None:
    async with site(work(3, **LONG), project) as found:
        session = await worked(found, 3)
        page = await found.page(session)
        await composer(page).fill("/compact" if how == "submit" else "/co")
        match how:
            case "click":
                await menu(page).get_by_role("option").first.click()
            case "submit":
                await page.get_by_role("button", name="Send").click()
            case _:
                await composer(page).press(how)
        rule = page.get_by_role("region", name="Compaction")
        await expect(rule).to_have_count(1)
        await expect(rule).to_contain_text("Compacted")
        await expect(composer(page)).to_have_value("")
        assert len(session.get_compactions()) == 1


async def test_words_with_a_slash_that_are_no_command(project: Path) -> None:
    async with site([Reply(text="ok")] * 3, project) as found:
        session = await found.host.draft()
        page = await found.page(session)
        for text, sent in (
            ("Explain /compact", "Explain /compact"),
            ("/usr/bin/x crashes", "/usr/bin/x crashes"),
            ("//compact", "/compact"),
        ):
            await composer(page).fill(text)
            await composer(page).press("Enter")
            await expect(page.get_by_role("article", name="You").last).to_have_text(sent)
            await session.wait_for_idle()
            await expect(page.get_by_role("button", name="Send")).to_be_enabled()
        await composer(page).fill("/nothing of that name")
        await composer(page).press("Enter")
        await expect(page.get_by_text("There is no command /nothing")).to_be_visible()
        await expect(composer(page)).to_have_value("/nothing of that name")
        assert await prompts(session) == ["Explain /compact", "/usr/bin/x crashes", "/compact"]


async def test_modifiers_and_input_methods_are_left_alone(project: Path) -> None:
    async with site(work(3, **LONG), project) as found:
        session = await worked(found, 3)
        page = await found.page(session)
        await composer(page).fill("/compact")
        for key in ("Control+Enter", "Alt+Enter", "Meta+Enter"):
            await composer(page).press(key)
        await composer(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True})
        await expect(menu(page)).to_be_visible()
        await composer(page).fill("one line")
        await composer(page).press("Shift+Enter")
        await composer(page).press_sequentially("two")
        await expect(composer(page)).to_have_value("one line\ntwo")
        assert session.get_compactions() == ()
        assert len(await prompts(session)) == 3


async def test_compact_says_why_it_cannot_be_given_and_keeps_the_draft(project: Path) -> None:
    gate = Gate()
    async with site([Reply(text="done"), Reply(text="never", before=gate)], project) as found:
        session = await worked(found, 1)
        page = await found.page(session)
        await page.clock.install()
        await composer(page).fill("/compact")
        option = menu(page).get_by_role("option").first
        await expect(option).to_have_attribute("aria-disabled", "true")
        await expect(option).to_contain_text("fewer than two turns")
        await composer(page).press("Enter")
        notice = page.locator(".composer-notice")
        await expect(notice).to_contain_text("fewer than two turns")
        await expect(composer(page)).to_have_value("/compact")
        await page.clock.run_for(5_100)
        await expect(notice).to_be_empty()
        running = asyncio.ensure_future(session.prompt("more"))
        await gate.reached.wait()
        await expect(option).to_contain_text("The session is busy")
        await session.abort()
        await asyncio.wait([running])


async def test_a_skill_is_offered_and_expanded(project: Path) -> None:
    skill = project / "skills" / "review" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: review\ndescription: How we review\n---\nLook twice.\n", "utf-8")
    folders = (str(project / "skills"),)
    async with site([Reply(text="ok")], project, skill_directories=folders) as found:
        session = await found.host.draft()
        page = await found.page(session)
        await composer(page).fill("please $re")
        await page.get_by_role("button", name="$review").click()
        await expect(composer(page)).to_have_value("please $review ")
        await composer(page).press("Enter")
        await expect(page.get_by_role("article", name="Agent")).to_contain_text("ok")
        assert any("Look twice." in text for text in await prompts(session))
        await expect(page.get_by_text("Skill ·")).to_be_visible()


async def test_files_are_offered_folder_by_folder(project: Path) -> None:
    (project / "src").mkdir()
    (project / "src" / "dates.py").write_text("", "utf-8")
    async with site([], project) as found:
        page = await found.page(await found.host.draft())
        await composer(page).fill("look at @s")
        await page.get_by_role("button", name="@src/", exact=True).click()
        await page.get_by_role("button", name="@src/dates.py").click()
        await expect(composer(page)).to_have_value("look at @src/dates.py ")


# --- while it runs -------------------------------------------------------------------------------


async def test_a_compaction_is_seen_survives_a_reload_and_can_be_stopped(project: Path) -> None:
    gate = Gate()
    script = [*work(3, **LONG), Reply(text="never", before=gate)]
    async with site(script, project, summarizer="model") as found:
        session = await worked(found, 3)
        page = await found.page(session)
        await page.clock.install()
        await composer(page).fill("/compact")
        await composer(page).press("Enter")
        await gate.reached.wait()
        running = page.get_by_role("status").filter(has_text="Compacting")
        await expect(running).to_be_visible()
        await expect(page.get_by_text("Long histories")).to_have_count(0)
        await page.clock.run_for(16_000)
        await expect(page.get_by_text("Long histories can take")).to_be_visible()
        await page.reload()
        # The start time is the server's, so a page that was just loaded knows how long it takes.
        await page.clock.run_for(1_000)
        await expect(running).to_contain_text("s ·")
        await expect(page.get_by_role("button", name="Stop").first).to_be_visible()
        await running.get_by_role("button", name="Stop").click()
        await expect(running).to_have_count(0)
        await expect(page.get_by_text("Stopped.")).to_be_visible()
        await expect(composer(page)).to_have_value("/compact")
        assert session.get_compactions() == ()


async def test_a_draft_typed_meanwhile_stays(project: Path) -> None:
    gate = Gate()
    script = [*work(3, **LONG), Reply(text="## Goal\nShort.", before=gate)]
    async with site(script, project, summarizer="model") as found:
        session = await worked(found, 3)
        page = await found.page(session)
        await composer(page).fill("/compact")
        await composer(page).press("Enter")
        await gate.reached.wait()
        await composer(page).fill("then look at the dates")
        gate.open()
        await expect(page.get_by_role("region", name="Compaction")).to_have_count(1)
        await expect(composer(page)).to_have_value("then look at the dates")


async def test_an_automatic_compaction_looks_the_same_and_the_prompt_goes_on(
    project: Path,
) -> None:
    async with site(work(14, prose=6_000), project) as found:
        session = await worked(found, 3)
        page = await found.page(session)
        for turn in range(3, 14):
            await session.prompt(f"do part {turn}")
        assert session.get_compactions()
        await expect(page.get_by_role("article", name="Agent").last).to_contain_text(
            "turn 13 is done"
        )
        await page.reload()
        await expect(page.get_by_role("article", name="Agent").last).to_contain_text(
            "turn 13 is done"
        )
        rule = page.get_by_role("region", name="Compaction")
        await page.get_by_role("log").hover()
        while not await rule.count():
            await page.mouse.wheel(0, -300)
        await expect(rule.last).to_contain_text("tokens")


async def test_the_marker_the_receipt_the_originals_and_the_undo(project: Path) -> None:
    async with site(work(3, **LONG), project) as found:
        session = await worked(found, 3)
        page = await found.page(session)
        await session.compact()
        rule = page.get_by_role("region", name="Compaction")
        await rule.get_by_role("button").click()
        await expect(rule.get_by_role("heading", name="Receipt")).to_be_visible()
        await expect(rule.get_by_role("heading", name="What the model sees")).to_be_visible()
        first = page.get_by_role("article", name="You").first
        await to_the_top(page)
        await expect(first).to_contain_text("do part 0")
        await expect(first).to_contain_text("The model sees a summary of this.")
        await page.mouse.wheel(0, 10_000_000)
        await expect(rule.locator(".restore")).to_contain_text("tokens.")
        await rule.get_by_role("button", name="Restore full history").click()
        await expect(rule.get_by_role("button", name="Use this summary again")).to_be_visible()
        assert session.state.compaction is None
        await page.reload()
        await expect(page.get_by_role("region", name="Compaction")).to_have_count(1)
        await expect(page.get_by_text("The model sees a summary of this.")).to_have_count(0)


# --- prompts that wait ---------------------------------------------------------------------------


async def test_prompts_typed_while_busy_wait_and_are_sent_in_order(project: Path) -> None:
    gate = Gate()
    script = [Reply(text="one", before=gate), Reply(text="two"), Reply(text="three")]
    async with site(script, project) as found:
        session = await found.host.draft()
        page = await found.page(session)
        for text in ("first", "second", "third", "fourth"):
            await composer(page).fill(text)
            await composer(page).press("Enter")
            if text == "first":
                await gate.reached.wait()
                await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        queue = page.get_by_role("list", name="Waiting prompts")
        await expect(queue.get_by_role("listitem")).to_have_count(3)
        await queue.get_by_role("listitem").last.get_by_role("button", name="Remove").click()
        await page.reload()
        await expect(queue.get_by_role("listitem")).to_have_count(2)
        gate.open()
        await until(session, lambda: session.state.message_count == 6)
        await expect(queue).to_have_count(0)
        assert await prompts(session) == ["first", "second", "third"]


async def test_after_a_stop_they_wait_for_the_person(project: Path) -> None:
    gate = Gate()
    async with site([Reply(text="one", before=gate), Reply(text="two")], project) as found:
        session = await found.host.draft()
        page = await found.page(session)
        await composer(page).fill("first")
        await composer(page).press("Enter")
        await gate.reached.wait()
        await composer(page).fill("second")
        await composer(page).press("Enter")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_text("Stopped.")).to_be_visible()
        queue = page.get_by_role("list", name="Waiting prompts")
        await expect(queue).to_contain_text("second")
        assert await prompts(session) == ["first"]
        await queue.get_by_role("button", name="Send").click()
        await expect(page.get_by_role("article", name="Agent").last).to_contain_text("two")


async def test_after_a_stop_nothing_but_the_person_releases_what_waits(project: Path) -> None:
    gate = Gate()
    script = [*work(2, **LONG), Reply(text="one", before=gate), Reply(text="two"), Reply(text="3")]
    async with site(script, project) as found:
        session = await worked(found, 2)
        page = await found.page(session)
        for text in ("first", "second", "third"):
            await composer(page).fill(text)
            await composer(page).press("Enter")
            if text == "first":
                await gate.reached.wait()
                await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_text("Stopped.")).to_be_visible()
        queue = page.get_by_role("list", name="Waiting prompts")
        await page.get_by_role("textbox", name="Title").fill("Dates")
        await page.get_by_role("textbox", name="Title").press("Enter")
        await expect(page.get_by_text("Stopped.")).to_have_count(0)
        await session.compact()
        await expect(page.get_by_role("region", name="Compaction")).to_be_visible()
        await page.reload()
        await expect(queue.get_by_role("listitem")).to_have_count(2)
        assert (await prompts(session))[-1] == "first"
        await queue.get_by_role("button", name="Send").first.click()
        await expect(queue).to_have_count(0)
        await until(session, lambda: session.state.message_count >= 14)
        assert (await prompts(session))[-3:] == ["first", "second", "third"]


async def test_a_prompt_that_could_not_be_saved_waits_in_the_history(project: Path) -> None:
    async with site([Reply(text="done")], project, failing_commits=1) as found:
        session = await found.host.draft()
        page = await found.page(session)
        await composer(page).fill("go")
        await composer(page).press("Enter")
        await expect(page.get_by_role("article", name="You")).to_have_text("go")
        await expect(composer(page)).to_have_value("")
        await page.get_by_role("button", name="Save again").click()
        await expect(page.get_by_role("button", name="Send")).to_be_enabled()
        assert await prompts(session) == ["go"]


async def answers_of_prompts(page: Page, *answers: Any) -> None:
    """Let what a prompt's request meets be scripted; after that it meets the server."""
    left = list(answers)

    async def meet(route: Route) -> None:
        await (left.pop(0)(route) if left else route.continue_())

    await page.route("**/prompt", meet)


async def refuse(route: Route) -> None:
    await route.fulfill(status=409, json={"code": "session_busy", "message": "Busy elsewhere."})


async def break_off(route: Route) -> None:
    await route.abort()


@pytest.mark.parametrize("failing", [refuse, break_off])
async def test_a_waiting_prompt_stays_until_it_is_accepted(project: Path, failing: Any) -> None:
    gate = Gate()
    script = [Reply(text="one", before=gate), Reply(text="two"), Reply(text="three")]
    async with site(script, project) as found:
        session = await found.host.draft()
        page = await found.page(session)
        met = asyncio.Event()

        async def meet(route: Route) -> None:
            await failing(route)
            met.set()

        await answers_of_prompts(page, Route.continue_, meet)
        await composer(page).fill("first")
        await composer(page).press("Enter")
        await gate.reached.wait()
        await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        await composer(page).fill("second")
        await composer(page).press("Enter")
        gate.open()
        queue = page.get_by_role("list", name="Waiting prompts")
        await met.wait()
        await expect(queue).to_contain_text("second")
        notice = expect(page.locator(".composer-notice"))
        # That somebody else was quicker is no news: the prompt is seen to wait.
        await (notice.to_be_empty() if failing is refuse else notice.not_to_be_empty())
        await queue.get_by_role("button", name="Send").click()
        await expect(queue).to_have_count(0)
        await until(session, lambda: session.state.message_count == 4)
        assert await prompts(session) == ["first", "second"]


@pytest.mark.parametrize("refused", [True, False])
async def test_a_prompt_leaves_the_composer_at_once_and_comes_back_when_refused(
    project: Path, refused: bool
) -> None:
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        await held.wait()
        await (refuse(route) if refused else route.continue_())

    async with site([Reply(text="done"), Reply(text="twice")], project) as found:
        session = await found.host.draft()
        page = await found.page(session)
        await answers_of_prompts(page, hold)
        await composer(page).fill("first")
        await composer(page).press("Enter")
        await composer(page).press("Enter")
        await expect(composer(page)).to_have_value("")
        await composer(page).fill("meanwhile")
        held.set()
        if refused:
            await expect(composer(page)).to_have_value("first\nmeanwhile")
            await expect(page.get_by_text("Busy elsewhere.")).to_be_visible()
        else:
            await expect(page.get_by_role("article", name="Agent")).to_contain_text("done")
            await expect(composer(page)).to_have_value("meanwhile")
        assert await prompts(session) == ([] if refused else ["first"])


async def test_two_tabs_send_what_waits_once(project: Path) -> None:
    gate = Gate()
    script = [Reply(text="one", before=gate), *(Reply(text=text) for text in ("two", "three"))]
    async with site(script, project) as found:
        session = await found.host.draft()
        tabs = [await found.page(session), await found.page(session)]
        for tab, text in ((0, "first"), (1, "second"), (0, "third")):
            await expect(composer(tabs[tab])).to_have_value("")
            await composer(tabs[tab]).fill(text)
            await composer(tabs[tab]).press("Enter")
            if text == "first":
                await gate.reached.wait()
                for page in tabs:
                    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
        gate.open()
        for page in tabs:
            await expect(page.get_by_role("article", name="Agent").last).to_contain_text("three")
            await expect(page.get_by_role("list", name="Waiting prompts")).to_have_count(0)
        assert await prompts(session) == ["first", "second", "third"]


async def test_a_session_in_use_elsewhere_is_taken_over_once_free(project: Path) -> None:
    elsewhere = sessions([Reply(text="theirs")], project)
    session = await elsewhere.draft()
    await session.prompt("go")
    async with site([Reply(text="mine")], project) as found:
        page = await found.page(session)
        await expect(page.get_by_text("theirs")).to_be_visible()
        await expect(composer(page)).to_be_disabled()
        take = page.get_by_role("button", name="Use it here")
        await take.click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await elsewhere.shut_down()
        await take.click()
        await expect(composer(page)).to_be_enabled()
        await composer(page).fill("now")
        await composer(page).press("Enter")
        await expect(page.get_by_text("mine")).to_be_visible()


# --- several pages, broken connections -----------------------------------------------------------


async def test_two_tabs_are_in_step(project: Path) -> None:
    gate = Gate()
    async with site([Reply(text=("half", " whole"), midway=gate)], project) as found:
        session = await found.host.draft()
        one, two = await found.page(session), await found.page(session)
        await composer(one).fill("go")
        await composer(one).press("Enter")
        await expect(two.get_by_text("half")).to_be_visible()
        await expect(two.get_by_role("button", name="Stop")).to_be_visible()
        gate.open()
        for page in (one, two):
            await expect(page.get_by_role("article", name="Agent")).to_contain_text("half whole")
            await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_a_lost_connection_is_said_and_mended(project: Path) -> None:
    async with site([Reply(text="done")], project) as found:
        session = await found.host.draft()
        page = await found.page(session)
        await expect(composer(page)).to_be_visible()
        await found.context.set_offline(True)
        await page.evaluate("window.dispatchEvent(new Event('offline'))")
        await session.prompt("while it was away")
        await found.context.set_offline(False)
        await expect(page.get_by_role("article", name="Agent")).to_contain_text("done")


HIDE = """hidden => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
"""What a browser does with a tab that another one covers; a driven one shows all of its tabs."""


async def test_more_tabs_than_a_browser_has_connections(project: Path) -> None:
    gate = Gate()
    script = [Reply(text="one", before=gate), Reply(text="two")]
    async with site(script, project) as found:
        session = await found.host.draft()
        tabs = []
        for _ in range(8):
            page = await found.page(session)
            await expect(composer(page)).to_be_visible()
            await page.evaluate(HIDE, True)
            tabs.append(page)
        (last, first) = tabs[-1], tabs[0]
        await last.evaluate(HIDE, False)
        await composer(last).fill("go")
        await composer(last).press("Enter")
        await gate.reached.wait()
        await composer(last).fill("then")
        await composer(last).press("Enter")
        await expect(last.get_by_role("list", name="Waiting prompts")).to_contain_text("then")
        await last.evaluate(HIDE, True)
        gate.open()
        # Nobody looks, and what waits is sent all the same; once.
        await until(session, lambda: session.state.message_count == 4)
        await first.evaluate(HIDE, False)
        await expect(first.get_by_role("article", name="Agent").last).to_contain_text("two")
        assert await prompts(session) == ["go", "then"]


async def test_a_session_that_is_missing_is_said_and_asked_for_no_more(project: Path) -> None:
    async with site([], project) as found:
        page = await found.page()
        await page.clock.install()
        await page.goto(f"{found.address}/#0f0e0d0c-0000-4000-8000-000000000000")
        await expect(page.get_by_role("alert")).to_contain_text("There is no such session")
        asked = len(found.asked)
        await page.clock.run_for(9_000)
        await page.evaluate(HIDE, True)
        await page.clock.run_for(60_000)
        assert found.asked[asked:] == []
        await page.evaluate(HIDE, False)
        await page.get_by_role("main").get_by_role("button", name="New session").click()
        await expect(composer(page)).to_be_visible()


async def test_without_a_model_it_says_what_to_do_and_stored_sessions_can_be_read(
    project: Path,
) -> None:
    before = sessions([Reply(text="It is done.")], project)
    stored = await before.draft()
    await stored.prompt("go")
    await before.shut_down()

    async def open_session(manager: SessionManager) -> AgentSession:
        raise UnknownModelError("")

    async with site_of(SessionHost(open_session, project)) as found:
        page = await found.page()
        await page.get_by_role("main").get_by_role("button", name="New session").click()
        await expect(page.get_by_role("alert")).to_contain_text("A model is needed")
        await expect(page.get_by_role("alert")).to_contain_text("export PALIMPSEST_MODEL=")
        await page.get_by_role("navigation").get_by_role("button", name="go").click()
        await expect(page.get_by_role("article", name="Agent")).to_have_text("It is done.")
        await expect(page.get_by_role("alert")).to_contain_text("A model is needed")
        await expect(composer(page)).to_have_count(0)


@pytest.mark.parametrize("locale", ["en-GB", "de-DE", "zh-CN"])
async def test_a_model_that_is_not_there_is_named_in_every_language(
    project: Path, locale: str
) -> None:
    async def open_session(manager: SessionManager) -> AgentSession:
        raise UnknownModelError("nobody:gpt")

    browser = {"locale": locale}
    async with site_of(SessionHost(open_session, project), browser=browser) as found:
        page = await found.page()
        new = {"en-GB": "New session", "de-DE": "Neue Sitzung", "zh-CN": "新会话"}[locale]
        await page.get_by_role("main").get_by_role("button", name=new).click()
        await expect(page.get_by_role("alert")).to_contain_text("'nobody:gpt'")


async def test_an_approval_is_answered_in_the_page(project: Path) -> None:
    script = [Reply(calls=(Call(tool="deploy", arguments={"to": "live"}),)), Reply(text="did not")]
    async with site(script, project, approving="deploy") as found:
        session = await found.host.draft()
        page = await found.page(session)
        await composer(page).fill("deploy it")
        await composer(page).press("Enter")
        request = page.get_by_role("alertdialog", name="Approval")
        await expect(request).to_contain_text("deploy")
        await expect(request).to_contain_text("live")
        await request.get_by_role("button", name="Refuse").click()
        await expect(page.get_by_role("article", name="Agent").last).to_contain_text("did not")
        await expect(request).to_have_count(0)


# --- what everybody can use ----------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 800, 360])
async def test_axe_finds_nothing(project: Path, scheme: str, width: int) -> None:
    look = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    async with site(work(3, **LONG), project, browser=look) as found:
        session = await worked(found, 3)
        await session.compact()
        page = await found.page(session)
        rule = page.get_by_role("region", name="Compaction")
        await expect(rule).to_contain_text("tokens")
        await rule.get_by_role("button").click()
        await composer(page).fill("/")
        await expect(menu(page)).to_be_visible()
        await page.evaluate(AXE.read_text("utf-8"))
        found_by_axe = await page.evaluate("axe.run()")
        assert [
            (broken["id"], [node["html"][:200] for node in broken["nodes"]])
            for broken in found_by_axe["violations"]
        ] == []
        wide = await page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


@pytest.mark.parametrize("width", [1280, 800, 390, 360])
async def test_the_context_panel_opens_and_closes_at_every_width(project: Path, width: int) -> None:
    look = {"viewport": {"width": width, "height": 800}}
    async with site([], project, browser=look) as found:
        page = await found.page(await found.host.draft())
        toggle = page.get_by_role("button", name="Show context")
        is_open = await toggle.get_attribute("aria-expanded") == "true"
        for _ in range(2):
            await toggle.click()
            is_open = not is_open
            await expect(toggle).to_have_attribute("aria-expanded", str(is_open).lower())


async def test_everything_by_keyboard_alone(project: Path) -> None:
    async with site(work(3, **LONG), project) as found:
        session = await worked(found, 3)
        await session.compact()
        page = await found.page(session)
        await expect(page.get_by_role("region", name="Compaction")).to_be_visible()
        reached: list[str] = []
        for _ in range(60):
            await page.keyboard.press("Tab")
            reached.append(await page.evaluate("document.activeElement.outerHTML.slice(0, 200)"))
            if "rule-line" in reached[-1]:
                break
        assert any("skip" in html for html in reached)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="Receipt")).to_be_visible()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Use this summary again")).to_be_visible()
        assert session.state.compaction is None


@pytest.mark.parametrize(("locale", "word"), [("de-DE", "Neue Sitzung"), ("zh-CN", "新会话")])
async def test_the_browsers_language(project: Path, locale: str, word: str) -> None:
    async with site([], project, browser={"locale": locale}) as found:
        page = await found.page()
        await expect(page.get_by_role("button", name=word).first).to_be_visible()
        assert await page.evaluate("document.documentElement.lang") == locale[:2]


# --- long and hostile ----------------------------------------------------------------------------


async def test_a_long_session_draws_and_loads_only_what_is_looked_at(project: Path) -> None:
    async with site([Reply(text=f"answer {turn}") for turn in range(250)], project) as found:
        session = await worked(found, 250)
        page = await found.page(session)
        await expect(page.get_by_text("answer 249", exact=True)).to_be_visible()
        assert await page.locator(".row").count() < 80
        pages = [url for url in found.asked if "/messages?" in url]
        assert len(pages) <= 3
        await to_the_top(page)
        await expect(page.get_by_text("answer 0", exact=True)).to_be_visible()
        assert await page.locator(".row").count() < 80


async def test_a_long_session_is_shown_before_it_is_opened(project: Path) -> None:
    name = await stored(project, messages=20_000)
    gate = Gate()
    host = sessions([], project, opening=gate, window=10_000_000)
    async with site_of(host) as found:
        page = await found.page()
        answers: list[Response] = []

        def note(answer: Response) -> None:
            answers.append(answer)

        page.on("response", note)
        await page.goto(f"{found.address}/#{name}")
        await expect(page.get_by_text("answer 9999", exact=True)).to_be_visible()
        await expect(page.get_by_text("Opening the session")).to_be_visible()
        assert len(host) == 0
        (newest,) = [answer for answer in answers if "/messages" in answer.url]
        assert len((await newest.json())["messages"]) == 100
        assert sum([len(await one.body()) for one in answers if name in one.url]) < 64 << 10
        await to_the_top(page)
        await expect(page.get_by_text("answer 0", exact=True)).to_be_visible()
        assert len([answer for answer in answers if "/messages" in answer.url]) <= 4
        assert len(host) == 0
        gate.open()
        await expect(composer(page)).to_be_visible()
        await expect(page.get_by_text("answer 0", exact=True)).to_be_visible()
        state = await found.context.request.get(f"{found.address}/api/sessions/{name}")
        assert len(await state.body()) < 8 << 10


async def test_hostile_text_stays_text_wherever_it_is_shown(project: Path) -> None:
    bad = "\n\n".join(HOSTILE)
    script = [
        Reply(
            text=bad,
            thinking=bad,
            calls=(Call(tool="read", arguments={"name": bad, "path": bad}),),
        ),
        Reply(text=bad),
        *work(3, **LONG),
        Reply(text=f"## Goal\n{bad}"),
    ]
    async with site(script, project, summarizer="model") as found:
        session = await found.host.draft()
        await session.prompt(bad)
        await session.set_title(HOSTILE[0])
        await session.set_permission_preset("full-access")
        for turn in range(3):
            await session.prompt(f"do part {turn}")
        await session.compact()
        page = await found.page(session)
        rule = page.get_by_role("region", name="Compaction")
        await rule.get_by_role("button").click()
        await expect(rule.get_by_role("heading", name="What the model sees")).to_be_visible()
        await to_the_top(page)
        await expect(page.get_by_role("article", name="You").first).to_contain_text("<script>")
        for line in await page.locator(".tool-line, .folded summary").all():
            await line.click()
        assert await page.evaluate("window.hacked") is None
        assert await page.locator("script:not([src]), iframe, object, embed, svg a").count() == 0
        assert await page.locator(".timeline img, .timeline form, .timeline style").count() == 0
        links = await page.locator(".timeline a").evaluate_all("all => all.map(a => a.href)")
        assert {link.partition(":")[0] for link in links} <= {"http", "https", "mailto", ""}
