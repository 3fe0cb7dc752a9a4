import { useTranslation } from "react-i18next";
import type { Snapshot } from "../api/types";

type BudgetState = Snapshot["contextBudget"];

/** The latest request's estimated share of the window; may exceed 100. */
export function percent(state: BudgetState): number {
  return Math.round((state.size.tokens / state.budget.window) * 100);
}

export function pressure(state: BudgetState): "calm" | "filling" | "full" {
  const share = percent(state);
  return share >= 90 ? "full" : share >= 70 ? "filling" : "calm";
}

/** A ring that fills; its text tells the same, so that colour never stands alone. */
export function Ring({ state, size }: { state: BudgetState; size: number }) {
  const { t } = useTranslation();
  const radius = 15;
  const round = 2 * Math.PI * radius;
  const share = Math.min(1, state.size.tokens / state.budget.window);
  return (
    <svg
      className={`ring ${pressure(state)}`}
      width={size}
      height={size}
      viewBox="0 0 36 36"
      role="img"
      aria-label={t("context.share", { percent: percent(state) })}
    >
      <circle className="ring-track" cx="18" cy="18" r={radius} />
      <circle
        className="ring-fill"
        cx="18"
        cy="18"
        r={radius}
        strokeDasharray={`${round * share} ${round}`}
        transform="rotate(-90 18 18)"
      />
    </svg>
  );
}
