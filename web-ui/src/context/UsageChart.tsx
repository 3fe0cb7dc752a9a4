import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { api, ask } from "../api/client";
import type { Snapshot, Usage } from "../api/types";
import { dollars, tokens } from "../numbers";

const WIDTH = 268;
const HEIGHT = 150;

/** Context and cost over requests, with lines at the trigger and the limit and marks at compactions. */
export function UsageChart({ snapshot }: { snapshot: Snapshot }) {
  const { t } = useTranslation();
  const place = useRef<HTMLDivElement>(null);
  const usage = useUsage(snapshot);
  const { inputLimit: limit, pressuredAt: trigger } = snapshot.contextBudget;
  const isPriced = usage?.requests.some((request) => request.costUsd > 0) ?? false;

  useEffect(() => {
    if (!place.current || !usage || usage.requests.length < 2) return;
    const style = getComputedStyle(place.current);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    const requests = usage.requests;
    const at = requests.map((_, number) => number + 1);
    const marks = requests.flatMap(({ afterCompaction }, number) => (afterCompaction ? [number + 1] : []));
    const axis = { stroke: colour("--pale-ink"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const chart = new uPlot(
      {
        width: WIDTH,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: { x: { time: false }, cost: { range: (_, __, most) => [0, most || 1] } },
        axes: [
          axis,
          { ...axis, size: 44, values: (_, ticks) => ticks.map(tokens) },
          { ...axis, show: isPriced, scale: "cost", side: 1, size: 44, grid: { show: false }, values: (_, ticks) => ticks.map(dollars) },
        ],
        series: [
          {},
          { stroke: colour("--accent"), width: 2 },
          { show: isPriced, stroke: colour("--pale-ink"), width: 1, dash: [4, 3], scale: "cost" },
        ],
        hooks: { draw: [(drawn) => lines(drawn, [trigger, limit], marks, colour)] },
      },
      [at, requests.map((request) => request.inputTokens), requests.map((request) => request.costUsd)],
      place.current,
    );
    return () => chart.destroy();
  }, [usage, trigger, limit, isPriced]);

  if (!usage || usage.requests.length < 2) return null;
  const most = Math.max(...usage.requests.map((request) => request.inputTokens));
  return (
    <figure>
      <figcaption className="pale">{t("chart.title")}</figcaption>
      <div
        ref={place}
        role="img"
        aria-label={t("chart.label", { count: usage.requests.length, most: tokens(most) })}
      />
      <ul className="legend pale">
        {["context", ...(isPriced ? ["cost"] : []), "trigger", "limit", "compaction"].map((name) => (
          <li key={name}>
            <span className={`stroke stroke-${name}`} aria-hidden="true" /> {t(`chart.${name}`)}
          </li>
        ))}
      </ul>
      {isPriced ? null : <p className="pale">{t("chart.unpriced")}</p>}
    </figure>
  );
}

function lines(chart: uPlot, levels: number[], marks: number[], colour: (name: string) => string) {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.lineWidth = 1;
  ctx.setLineDash([]);
  levels.forEach((level, number) => {
    const y = chart.valToPos(level, "y", true);
    if (y < bbox.top) return;
    ctx.strokeStyle = colour(number ? "--red" : "--amber");
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  });
  ctx.strokeStyle = colour("--ink");
  for (const mark of marks) {
    const x = chart.valToPos(mark, "x", true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function useUsage(snapshot: Snapshot): Usage | null {
  const [usage, setUsage] = useState<Usage | null>(null);
  const { id } = snapshot;
  const { requests } = snapshot.totals;
  useEffect(() => {
    const path = { session_id: id };
    ask(api.GET("/api/sessions/{session_id}/usage", { params: { path } })).then(setUsage, () => undefined);
  }, [id, requests]);
  return usage;
}
