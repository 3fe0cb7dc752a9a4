/** Two layers of writing: what was written over in pale ink, what stands now in full. */
export function Mark({ size }: { size: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <g className="mark-under">
        <path d="M5 7h22" />
        <path d="M5 13h16" />
      </g>
      <g className="mark-over">
        <path d="M5 19h22" />
        <path d="M5 25h12" />
      </g>
    </svg>
  );
}
