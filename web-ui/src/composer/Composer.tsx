import { useCallback, useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ApiError, ask } from "../api/client";
import type { ImageBody, Snapshot } from "../api/types";
import { useStored } from "../stored";
import { useCommand } from "../useCommand";
import { isCommand, meaningOf, mentionedSkills, offered, offeredSkills, type CommandName } from "./commands";
import { readImages } from "./images";
import { Offers } from "./Offers";
import { newRequestId } from "./requestId";
import { SlashMenu } from "./SlashMenu";
import { useCompact } from "./useCompact";
import { useQueue, type Waiting } from "./useQueue";
import { useFiles } from "./useFiles";
import { useSkills } from "./useSkills";

interface Props {
  snapshot: Snapshot;
  onCreate(): void;
}

/** Where the person writes: prompts, commands, pictures; Stop stands where Send does while busy. */
export function Composer({ snapshot, onCreate }: Props) {
  const { t } = useTranslation();
  const [text, setText] = useStored(`palimpsest.draft.${snapshot.id}`, "");
  const [images, setImages] = useState<ImageBody[]>([]);
  const [chosen, setChosen] = useState(0);
  const [closed, setClosed] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const latest = useRef(text);
  latest.current = text;
  const { run, problem } = useCommand();
  const { reason, notice, compact } = useCompact(snapshot);
  const [unknown, setUnknown] = useState("");
  const busy = snapshot.operation !== "idle";
  const params = { path: { session_id: snapshot.id } };

  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);

  const post = useCallback(
    async ({ requestId, text, images, skills }: Waiting, waits = false) => {
      const path = { session_id: snapshot.id };
      const body = { requestId, text, images, skills };
      const answer = () => ask(api.POST("/api/sessions/{session_id}/prompt", { params: { path }, body }));
      return run(() => taken(answer(), waits));
    },
    [run, snapshot.id],
  );
  const postWaiting = useCallback((waiting: Waiting) => post(waiting, true), [post]);
  const { queue, add, remove, send } = useQueue(snapshot, postWaiting);

  const known = useSkills(snapshot.id);
  const skills = offeredSkills(text, known);
  const files = useFiles(snapshot.id, text);
  const menu = closed === text ? [] : offered(text);
  const runCommand = async (name: CommandName, rest: string) => {
    const typed = text;
    // Only what is still the same command goes; what was typed meanwhile stays.
    const clear = () => latest.current === typed && setText("");
    switch (name) {
      case "compact":
        if (await compact(rest)) clear();
        return;
      case "restore": {
        const body = { checkpoint: null, outputs: false };
        if (await run(() => ask(api.POST("/api/sessions/{session_id}/restore", { params, body })))) clear();
        return;
      }
      case "new":
        clear();
        onCreate();
    }
  };

  const complete = (typed: RegExp, whole: string) => {
    setText(text.replace(typed, () => whole));
    area.current?.focus();
  };

  const submit = async () => {
    const meaning = meaningOf(text);
    setUnknown("");
    if (meaning.kind === "command") {
      if (isCommand(meaning.name)) await runCommand(meaning.name, meaning.rest);
      else setUnknown(t("composer.unknown", { name: meaning.name }));
      return;
    }
    if (!meaning.text && images.length === 0) return;
    const skills = mentionedSkills(meaning.text, known);
    const waiting = { requestId: newRequestId(), text: meaning.text, images, skills };
    if (busy && !add(waiting)) {
      setUnknown(t("composer.full"));
      return;
    }
    // At once: a second Enter would send it twice, and what is typed meanwhile is another prompt.
    setText("");
    setImages([]);
    if (busy || (await post(waiting))) return;
    setText((now) => (now ? `${text}\n${now}` : text));
    setImages((now) => [...images, ...now]);
  };

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    if (menu.length && !event.shiftKey) {
      const name = menu[Math.min(chosen, menu.length - 1)]!;
      switch (event.key) {
        case "Enter":
        case "Tab":
          event.preventDefault();
          runCommand(name, "");
          return;
        case "ArrowDown":
        case "ArrowUp":
          event.preventDefault();
          setChosen((chosen + (event.key === "ArrowDown" ? 1 : menu.length - 1)) % menu.length);
          return;
        case "Escape":
          event.preventDefault();
          setClosed(text);
          return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    }
  };

  const addImages = async (files: Iterable<File>) => {
    const read = await readImages(files);
    setImages((known) => [...known, ...read]);
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        addImages(event.dataTransfer.files);
      }}
    >
      {queue.length ? (
        <ul className="queue" aria-label={t("composer.queue")}>
          {queue.map((waiting) => (
            <li key={waiting.requestId}>
              <span>{waiting.text}</span>
              {busy ? null : (
                <button
                  type="button"
                  onClick={() => send(waiting)}
                >
                  {t("composer.send")}
                </button>
              )}
              <button type="button" className="quiet" onClick={() => remove(waiting.requestId)}>
                {t("composer.remove")}
              </button>
            </li>
          ))}
        </ul>
      ) : null}
      <p className="composer-notice" role="status">
        {notice || unknown || problem}
      </p>
      {menu.length ? (
        <SlashMenu names={menu} chosen={Math.min(chosen, menu.length - 1)} snapshot={snapshot} reason={reason} onChoose={(name) => runCommand(name, "")} />
      ) : null}
      <Offers
        label={t("composer.skills")}
        names={skills.map((name) => `$${name} `)}
        onChoose={(name) => complete(/\$[a-z0-9-]*$/, name)}
      />
      <Offers
        label={t("composer.files")}
        names={files.map((path) => `@${path}${path.endsWith("/") ? "" : " "}`)}
        onChoose={(path) => complete(/@[^\s@]*$/, path)}
      />
      <div className="composer-box">
        {images.length ? (
          <ul className="chips">
            {images.map((image, number) => (
              <li key={number}>
                <img src={`data:${image.mediaType};base64,${image.data}`} alt={t("timeline.image")} />
                <button
                  type="button"
                  className="quiet"
                  aria-label={t("composer.remove")}
                  onClick={() => setImages(images.filter((_, other) => other !== number))}
                >
                  ×
                </button>
              </li>
            ))}
          </ul>
        ) : null}
        <textarea
          id="composer"
          ref={area}
          rows={1}
          value={text}
          disabled={snapshot.readOnly}
          aria-label={t("composer.label")}
          aria-haspopup="listbox"
          aria-controls={menu.length ? "slash-menu" : undefined}
          aria-activedescendant={menu.length ? `slash-${menu[Math.min(chosen, menu.length - 1)]}` : undefined}
          aria-autocomplete="list"
          placeholder={t(busy ? "composer.busy" : "composer.placeholder")}
          onChange={(event) => {
            setText(event.target.value);
            setClosed("");
            setUnknown("");
          }}
          onKeyDown={onKeyDown}
          onPaste={(event) => {
            if (event.clipboardData.files.length) addImages(event.clipboardData.files);
          }}
        />
        <div className="composer-bar">
          <label className="attach" title={t("composer.attach")}>
            <span className="visually-hidden">{t("composer.attach")}</span>
            <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
              <path d="M9 3v12M3 9h12" stroke="currentColor" strokeWidth="1.75" strokeLinecap="round" />
            </svg>
            <input
              type="file"
              accept="image/png,image/jpeg,image/gif,image/webp"
              multiple
              onChange={(event) => {
                addImages(event.target.files ?? []);
                event.target.value = "";
              }}
            />
          </label>
          <span className="hint">
            <kbd>/</kbd> {t("slash.title")} <kbd>@</kbd> {t("composer.files")} <kbd>$</kbd> {t("composer.skills")}
          </span>
          {busy ? (
            <button
              type="button"
              className="primary stop"
              onClick={() => run(() => ask(api.POST("/api/sessions/{session_id}/abort", { params })))}
            >
              {t("composer.stop")}
            </button>
          ) : (
            <button type="submit" className="primary" disabled={snapshot.readOnly || snapshot.hasPendingSave}>
              {t("composer.send")}
            </button>
          )}
        </div>
      </div>
    </form>
  );
}

/** Whether a prompt stands in the history; one that could not be saved does, and the header says so. */
async function taken(answer: Promise<unknown>, waits: boolean): Promise<boolean> {
  try {
    await answer;
  } catch (error) {
    const code = error instanceof ApiError ? error.code : "";
    // Somebody else was quicker: what waits goes on waiting, and stands there to be seen.
    if (waits && code === "session_busy") return false;
    if (code !== "save_failed") throw error;
  }
  return true;
}
