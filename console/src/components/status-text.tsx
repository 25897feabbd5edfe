type Props = { label: string; color: 'gray' | 'green' | 'yellow' | 'red' };

/** A dot and a word, for the rows of lists. The word says it already; the color helps when scanning. */
export const StatusText = ({ label, color }: Props) => (
  <span className="status">
    <span className="dot" style={{ background: `var(--mantine-color-${color}-6)` }} />
    {label}
  </span>
);
