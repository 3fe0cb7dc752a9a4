import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Checkpoint, Snapshot } from "../api/types";
import type { Pages } from "../api/usePages";
import { Approvals } from "./Approvals";
import { CompactionRule } from "./CompactionRule";
import { LiveReply } from "./LiveReply";
import { Message } from "./Message";
import { rowsOf } from "./rows";
import { RunningCompaction } from "./RunningCompaction";
import { OpenRows } from "./useOpen";

const NEAR_END_PX = 80;
const MESSAGE_PX = 72;
const OVERSCAN = 8;

interface Props {
  snapshot: Snapshot;
  pages: Pages;
  compactions: readonly Checkpoint[];
}

/** The whole history, of which only what is near the window is drawn; it follows its end. */
export function Timeline({ snapshot, pages, compactions }: Props) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const handled = useRef(false);
  const [open] = useState(() => new Map<string, boolean>());
  const total = snapshot.messageCount;
  const rows = useMemo(() => rowsOf(total, compactions), [total, compactions]);
  const cut = snapshot.compaction?.firstKeptMessageIndex ?? 0;

  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => MESSAGE_PX,
    overscan: OVERSCAN,
    getItemKey: (row) => keyOf(rows, row),
  });
  const drawn = virtualizer.getVirtualItems();
  const first = drawn[0]?.index ?? 0;
  const last = drawn.at(-1)?.index ?? 0;

  useEffect(() => {
    const indexes = rows.slice(first, last + 1).flatMap((row) => (row.kind === "message" ? [row.index] : []));
    // The message behind the last one may hold the results of its calls.
    if (indexes.length) pages.want(indexes[0]!, indexes.at(-1)! + 2);
  }, [pages, rows, first, last]);

  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element && follows.current) element.scrollTop = element.scrollHeight;
  }, []);
  const height = virtualizer.getTotalSize();
  useLayoutEffect(toEnd, [toEnd, height, snapshot]);

  return (
    <div
      className="timeline"
      ref={scroller}
      role="log"
      aria-label={t("timeline.title")}
      tabIndex={0}
      onWheel={() => (handled.current = true)}
      onTouchMove={() => (handled.current = true)}
      onKeyDown={() => (handled.current = true)}
      onPointerDown={() => (handled.current = true)}
      onScrollEnd={() => (handled.current = false)}
      onScroll={(event) => {
        const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
        // What grows and shrinks scrolls, too; only a person decides whether to follow.
        if (handled.current) follows.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
      }}
    >
      {total === 0 ? <p className="empty pale">{t("timeline.empty")}</p> : null}
      <OpenRows.Provider value={open}>
        <div className="rows" style={{ height }}>
        {drawn.map((item) => {
          const row = rows[item.index]!;
          return (
            <div
              key={item.key}
              data-index={item.index}
              ref={virtualizer.measureElement}
              className="row"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {row.kind === "message" ? (
                <Message
                  sessionId={snapshot.id}
                  message={pages.get(row.index)}
                  next={pages.get(row.index + 1)}
                  previous={pages.get(row.index - 1)}
                  summarised={row.index < cut}
                />
              ) : (
                <CompactionRule
                  sessionId={snapshot.id}
                  checkpoint={row.checkpoint}
                  isActive={row.checkpoint.id === snapshot.compaction?.id}
                  isBusy={snapshot.operation !== "idle" || snapshot.hasPendingSave}
                />
              )}
            </div>
          );
        })}
        </div>
        <LiveReply live={snapshot.live} />
      </OpenRows.Provider>
      <Approvals snapshot={snapshot} />
      <RunningCompaction snapshot={snapshot} />
      {snapshot.outcome === "error" && snapshot.operation === "idle" ? (
        <p className="notice" role="alert">
          {snapshot.error}
        </p>
      ) : null}
      {snapshot.outcome === "cancelled" && snapshot.operation === "idle" ? (
        <p className="pale row-text">{t("timeline.cancelled")}</p>
      ) : null}
    </div>
  );
}

function keyOf(rows: ReturnType<typeof rowsOf>, row: number): string {
  const found = rows[row]!;
  return found.kind === "message" ? `m${found.index}` : found.checkpoint.id;
}
