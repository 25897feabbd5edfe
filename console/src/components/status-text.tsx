type Props = { label: string; color: 'gray' | 'green' | 'yellow' | 'red' };

/** A state, as a dot and a word. The word is sufficient; the color helps to scan a list. */
export const StatusText = ({ label, color }: Props) => (
  <span className="status">
    <span
      aria-hidden
      className="dot"
      style={{ background: `light-dark(var(--mantine-color-${color}-6), var(--mantine-color-${color}-4))` }}
    />
    {label}
  </span>
);
