/** The coordinates of the drawing, which is stretched to its size on the screen. */
const [WIDTH, HEIGHT, MARGIN] = [96, 24, 2];

type Props = {
  /** One number for each day, oldest first; undefined while it is loading. */
  values: number[] | undefined;
  width?: number | string;
  height?: number;
};

/** A line without axes, for a table that has the numbers. */
export const Sparkline = ({ values, width = WIDTH, height = HEIGHT }: Props) => {
  if (!values) return null;
  const highest = Math.max(...values, 1);
  const points = values.map((value, index) => {
    const x = MARGIN + (index / Math.max(values.length - 1, 1)) * (WIDTH - 2 * MARGIN);
    const y = HEIGHT - MARGIN - (value / highest) * (HEIGHT - 2 * MARGIN);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  const label = `Actions by day: ${values.at(-1)?.toLocaleString()} today, at most ${Math.max(...values).toLocaleString()}`;
  return (
    <svg
      className="sparkline"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      width={width}
      height={height}
    >
      <polyline points={points.join(' ')} vectorEffect="non-scaling-stroke" />
    </svg>
  );
};
