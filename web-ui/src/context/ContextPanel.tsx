import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ask } from "../api/client";
import type { Breakdown, Snapshot } from "../api/types";
import { dollars, tokens } from "../numbers";
import { percent, pressure, Ring } from "./Ring";
import { StackedBar } from "./StackedBar";
import { UsageChart } from "./UsageChart";

/** What fills the window, what it cost, and how it came to that. */
export function ContextPanel({ snapshot }: { snapshot: Snapshot }) {
  const { t } = useTranslation();
  const state = snapshot.contextBudget;
  const { window: size, reservedOutput } = state.budget;
  const breakdown = useBreakdown(snapshot);
  const { totals } = snapshot;
  return (
    <aside className="panel" tabIndex={0} aria-label={t("context.title")}>
      <div className={`meter ${pressure(state)}`}>
        <div className="dial">
          <Ring state={state} size={112} />
          <strong>
            {state.calibrated ? "" : "≈ "}
            {percent(state)} %
          </strong>
        </div>
        <p>
          {tokens(state.size.tokens)} {t("context.of", { tokens: tokens(size) })}
        </p>
        <p className="pale">{useSource(state.windowSource)}</p>
      </div>
      {breakdown ? <StackedBar breakdown={breakdown} reserve={reservedOutput} safety={state.safety} /> : null}
      <UsageChart snapshot={snapshot} />
      <h2>{t("totals.title")}</h2>
      <dl>
        <Figure name={t("totals.requests")} value={String(totals.requests)} />
        <Figure name={t("totals.input")} value={tokens(totals.inputTokens)} />
        <Figure name={t("totals.cacheReads")} value={tokens(totals.cacheReadTokens)} />
        <Figure name={t("totals.cacheWrites")} value={tokens(totals.cacheWriteTokens)} />
        <Figure name={t("totals.output")} value={tokens(totals.outputTokens)} />
        <Figure
          name={t("totals.summaries")}
          value={`${totals.summaries} · ${tokens(totals.summaryInputTokens + totals.summaryOutputTokens)}`}
        />
        <Figure
          name={t("totals.cost")}
          value={totals.unpriced && !totals.costUsd ? t("totals.unknown") : dollars(totals.costUsd)}
        />
      </dl>
    </aside>
  );
}

/** Where the window comes from, in the person's language; the server says it in English. */
function useSource(said: string): string {
  const { t } = useTranslation();
  const words = t("context.sources", { returnObjects: true }) as Record<string, string>;
  const [, source = ""] = /\((.*)\)$/.exec(said) ?? [];
  return words[source] ?? said;
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function useBreakdown(snapshot: Snapshot): Breakdown | null {
  const [breakdown, setBreakdown] = useState<Breakdown | null>(null);
  const { id, messageCount } = snapshot;
  const { tokens: size } = snapshot.contextBudget.size;
  useEffect(() => {
    const path = { session_id: id };
    ask(api.GET("/api/sessions/{session_id}/context", { params: { path } })).then(setBreakdown, () => undefined);
  }, [id, messageCount, size]);
  return breakdown;
}
