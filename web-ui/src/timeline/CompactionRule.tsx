import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ask } from "../api/client";
import type { Checkpoint, Receipt } from "../api/types";
import { locale } from "../i18n";
import { Mark } from "../Mark";
import { clock, tokens } from "../numbers";
import { useCommand } from "../useCommand";
import { Markdown } from "./Markdown";
import { ReceiptFacts } from "./ReceiptFacts";
import { useOpen } from "./useOpen";

interface Props {
  sessionId: string;
  checkpoint: Checkpoint;
  isActive: boolean;
  isBusy: boolean;
}

/** A compaction where it happened; opens to the summary and, beside it, the receipt. */
export function CompactionRule({ sessionId, checkpoint, isActive, isBusy }: Props) {
  const { t } = useTranslation();
  const [open, toggle] = useOpen(checkpoint.id);
  const receipt = useReceipt(sessionId, checkpoint.id);
  const figures = receipt?.figures;
  const label = figures
    ? [
        t("compaction.done", { time: clock(checkpoint.timestamp, locale) }),
        `${tokens(figures.tokensBefore)} → ${tokens(figures.tokensAfter)} ${t("compaction.tokens")}`,
        t("compaction.kept", { count: figures.turnsKept }),
        `${Math.round(figures.durationMs / 1000)} s`,
      ].join(" · ")
    : t("compaction.done", { time: clock(checkpoint.timestamp, locale) });
  return (
    <section className={`rule${isActive ? " active" : ""}`} aria-label={t("compaction.label")}>
      <button className="rule-line" aria-expanded={open} onClick={toggle}>
        <Mark size={14} />
        <span>{label}</span>
      </button>
      {receipt && !receipt.reduced ? <p className="pale">{t("compaction.notReduced")}</p> : null}
      {open ? (
        <div className="rule-body">
          <Restore sessionId={sessionId} checkpoint={checkpoint} isActive={isActive} isBusy={isBusy} />
          <div className="columns">
            <div tabIndex={0}>
              <h2>{t("compaction.summary")}</h2>
              <Markdown text={checkpoint.summary} />
            </div>
            {receipt ? <ReceiptFacts receipt={receipt} /> : null}
          </div>
        </div>
      ) : null}
    </section>
  );
}

function useReceipt(sessionId: string, checkpoint: string): Receipt | null {
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  useEffect(() => {
    const path = { session_id: sessionId, checkpoint };
    ask(api.GET("/api/sessions/{session_id}/receipts/{checkpoint}", { params: { path } })).then(
      (answer) => setReceipt(answer.receipt),
      () => undefined,
    );
  }, [sessionId, checkpoint]);
  return receipt;
}

/** Undo: says first whether what would be shown fits. */
function Restore({ sessionId, checkpoint, isActive, isBusy }: Props) {
  const { t } = useTranslation();
  const { run, problem } = useCommand();
  const [outputs, setOutputs] = useState(false);
  const [said, setSaid] = useState("");
  const wanted = isActive ? null : checkpoint.id;
  const path = { session_id: sessionId };

  useEffect(() => {
    const query = { outputs, ...(wanted ? { checkpoint: wanted } : {}) };
    ask(api.GET("/api/sessions/{session_id}/restore", { params: { path: { session_id: sessionId }, query } })).then(
      (found) =>
        setSaid(
          t(found.fits ? (found.pressured ? "restore.tight" : "restore.fits") : "restore.tooLarge", {
            tokens: tokens(found.tokens),
          }),
        ),
      () => setSaid(""),
    );
  }, [sessionId, wanted, outputs, t]);

  return (
    <div className="restore">
      <button
        disabled={isBusy}
        onClick={() =>
          run(() =>
            ask(api.POST("/api/sessions/{session_id}/restore", { params: { path }, body: { checkpoint: wanted, outputs } })),
          )
        }
      >
        {t(isActive ? "restore.full" : "restore.this")}
      </button>
      <label>
        <input type="checkbox" checked={outputs} onChange={(event) => setOutputs(event.target.checked)} />{" "}
        {t("restore.outputs")}
      </label>
      <span className="pale">{problem || said}</span>
    </div>
  );
}
