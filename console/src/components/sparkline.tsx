const [WIDTH, HEIGHT, MARGIN] = [96, 24, 2];

/** A line of one number for each day, oldest first; nothing while it is loading. */
export const Sparkline = ({ values }: { values: number[] | undefined }) => {
  if (!values) return null;
  const highest = Math.max(...values, 1);
  const points = values.map((value, index) => {
    const x = MARGIN + (index / Math.max(values.length - 1, 1)) * (WIDTH - 2 * MARGIN);
    const y = HEIGHT - MARGIN - (value / highest) * (HEIGHT - 2 * MARGIN);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  const label = `Actions by day: ${values.at(-1)?.toLocaleString()} today, at most ${Math.max(...values).toLocaleString()}`;
  return (
    <svg className="sparkline" role="img" aria-label={label} width={WIDTH} height={HEIGHT}>
      <polyline points={points.join(' ')} />
    </svg>
  );
};
