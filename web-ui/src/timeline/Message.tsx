import { memo } from "react";
import { useTranslation } from "react-i18next";
import type { CallPart, Original, OriginalPart, ResultPart } from "../api/types";
import { tokens } from "../numbers";
import { Markdown } from "./Markdown";
import { Omitted } from "./Omitted";
import { ToolCall } from "./ToolCall";

interface Props {
  sessionId: string;
  message: Original | undefined;
  next: Original | undefined;
  previous: Original | undefined;
  /** A summary stands for it in what the model sees. */
  summarised: boolean;
}

/** One original. Results of tools stand with their calls, in the message before. */
export const Message = memo(function Message({ sessionId, message, next, previous, summarised }: Props) {
  const { t } = useTranslation();
  if (!message) return <div className="skeleton" aria-hidden="true" />;
  const parts = message.parts.filter((part) => !isShownWithCall(part, previous));
  if (parts.length === 0) return null;
  return (
    <article
      className={`message ${message.role}${message.startsTurn ? " turn" : ""}${summarised ? " summarised" : ""}`}
      aria-label={t(message.startsTurn ? "timeline.you" : "timeline.agent")}
    >
      {summarised ? <span className="visually-hidden">{t("timeline.summarised")}</span> : null}
      {parts.map((part, number) => (
        <Part key={number} part={part} message={message} next={next} sessionId={sessionId} />
      ))}
      {message.truncated ? <p className="pale">{t("timeline.truncated")}</p> : null}
    </article>
  );
});

function isShownWithCall(part: OriginalPart, previous: Original | undefined): boolean {
  if (part.kind !== "result") return false;
  return !!previous?.parts.some((other) => other.kind === "call" && other.callId === part.callId);
}

function resultOf(call: CallPart, next: Original | undefined): ResultPart | undefined {
  return next?.parts.find(
    (part): part is ResultPart => part.kind === "result" && part.callId === call.callId,
  );
}

interface PartProps {
  part: OriginalPart;
  message: Original;
  next: Original | undefined;
  sessionId: string;
}

function Part({ part, message, next, sessionId }: PartProps) {
  const { t } = useTranslation();
  switch (part.kind) {
    case "text":
      if (part.injected) return <Folded label={t("timeline.skill")} text={part.text} />;
      return (
        <>
          {message.role === "assistant" ? <Markdown text={part.text} /> : <p className="typed">{part.text}</p>}
          <Omitted sessionId={sessionId} index={message.index} characters={part.omittedCharacters} />
        </>
      );
    case "thinking":
      return <Folded label={t("timeline.thinking")} text={part.text} />;
    case "call":
      return (
        <ToolCall
          sessionId={sessionId}
          callId={part.callId}
          name={part.toolName}
          args={part.arguments}
          result={resultOf(part, next)}
          index={message.index + 1}
        />
      );
    case "result":
      return (
        <ToolCall
          sessionId={sessionId}
          callId={part.callId}
          name={part.toolName}
          args=""
          result={part}
          index={message.index}
        />
      );
    case "file":
      return <File part={part} index={message.index} sessionId={sessionId} />;
    case "other":
      return part.text ? <Folded label={part.name} text={part.text} /> : null;
  }
}

function Folded({ label, text }: { label: string; text: string }) {
  return (
    <details className="folded">
      <summary>
        {label} · {tokens(Math.ceil(text.length / 4))}
      </summary>
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

interface FileProps {
  part: Extract<OriginalPart, { kind: "file" }>;
  index: number;
  sessionId: string;
}

function File({ part, index, sessionId }: FileProps) {
  const { t } = useTranslation();
  if (part.url) return <p className="pale">{part.url}</p>;
  const address = `/api/sessions/${sessionId}/messages/${index}/files/${part.file}`;
  if (part.mediaType.startsWith("image/")) {
    return <img className="picture" src={address} alt={t("timeline.image")} loading="lazy" />;
  }
  return (
    <a href={address} download>
      {part.mediaType}
    </a>
  );
}
