import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Checkpoint, Snapshot } from "../api/types";
import type { Pages } from "../api/usePages";
import { Approvals } from "./Approvals";
import { Mark } from "../Mark";
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
  sessionId: string;
  total: number;
  /** Null while the session is being opened: its messages can be read before. */
  snapshot: Snapshot | null;
  pages: Pages;
  compactions: readonly Checkpoint[];
}

/** The whole history, of which only what is near the window is drawn; it follows its end. */
export function Timeline({ sessionId, total, snapshot, pages, compactions }: Props) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const handled = useRef(false);
  const [isAway, setIsAway] = useState(false);
  const [open] = useState(() => new Map<string, boolean>());
  const rows = useMemo(() => rowsOf(total, compactions), [total, compactions]);
  const cut = snapshot?.compaction?.firstKeptMessageIndex ?? 0;

  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => MESSAGE_PX,
    overscan: OVERSCAN,
    // The end is shown first; from the start, its page would be loaded for nothing.
    initialOffset: () => rows.length * MESSAGE_PX,
    getItemKey: (row) => keyOf(rows, row),
  });
  const drawn = virtualizer.getVirtualItems();
  const first = drawn[0]?.index ?? 0;
  const last = drawn.at(-1)?.index ?? -1;

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
  // At once where rows come and go, and once more where what is alive grows by itself.
  useLayoutEffect(toEnd, [toEnd, height, snapshot]);
  useEffect(() => {
    if (!content.current) return;
    const observer = new ResizeObserver(toEnd);
    observer.observe(content.current);
    return () => observer.disconnect();
  }, [toEnd]);

  return (
    <div className="timeline-frame">
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
        const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
        if (handled.current) follows.current = isAtEnd;
        setIsAway(!isAtEnd && !follows.current);
      }}
    >
      <div ref={content} className="timeline-content">
      {total === 0 ? <Empty /> : null}
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
                  sessionId={sessionId}
                  message={pages.get(row.index)}
                  next={pages.get(row.index + 1)}
                  previous={pages.get(row.index - 1)}
                  summarised={snapshot ? row.index < cut : pages.get(row.index)?.inView === false}
                />
              ) : (
                <CompactionRule
                  sessionId={sessionId}
                  checkpoint={row.checkpoint}
                  isActive={row.checkpoint.id === snapshot?.compaction?.id}
                  isBusy={snapshot?.operation !== "idle" || snapshot.hasPendingSave}
                />
              )}
            </div>
          );
        })}
        </div>
        {snapshot ? <LiveReply live={snapshot.live} /> : null}
      </OpenRows.Provider>
      {snapshot ? <Now snapshot={snapshot} /> : null}
      </div>
      </div>
      {isAway ? (
        <button
          className="to-end"
          onClick={() => {
            follows.current = true;
            toEnd();
          }}
        >
          <span aria-hidden="true">↓</span> {t("timeline.latest")}
        </button>
      ) : null}
    </div>
  );
}

/** Stands where the first prompt will be. */
function Empty() {
  const { t } = useTranslation();
  return (
    <div className="empty">
      <Mark size={36} />
      <h2>{t("timeline.emptyTitle")}</h2>
      <p className="pale">{t("timeline.empty")}</p>
    </div>
  );
}

/** What stands behind the history: what waits or runs, and how the last of it ended. */
function Now({ snapshot }: { snapshot: Snapshot }) {
  const { t } = useTranslation();
  const isIdle = snapshot.operation === "idle";
  return (
    <>
      <Approvals snapshot={snapshot} />
      <RunningCompaction snapshot={snapshot} />
      {isIdle && snapshot.outcome === "error" ? (
        <p className="notice error" role="alert">
          <strong>{t("timeline.failed")}</strong> {snapshot.error}
        </p>
      ) : null}
      {isIdle && snapshot.outcome === "cancelled" ? (
        <p className="pale row-text">{t("timeline.cancelled")}</p>
      ) : null}
    </>
  );
}

function keyOf(rows: ReturnType<typeof rowsOf>, row: number): string {
  const found = rows[row]!;
  return found.kind === "message" ? `m${found.index}` : found.checkpoint.id;
}
