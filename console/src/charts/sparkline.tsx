/** The coordinates of the drawing, which is stretched to its size on the screen. */
const [WIDTH, HEIGHT, MARGIN] = [96, 24, 2];

type Props = {
  /** One number for each day, oldest first; undefined while it is loading. */
  values: number[] | undefined;
  /** The same number of values of the period before, as a dashed line. */
  before?: number[];
  width?: number | string;
  height?: number;
};

/** Lines without axes, for places that also show the numbers. */
export const Sparkline = ({ values, before, width = WIDTH, height = HEIGHT }: Props) => {
  if (!values) return null;
  const highest = Math.max(...values, ...(before ?? []), 1);
  const pointsOf = (numbers: number[]): string =>
    numbers
      .map((value, index) => {
        const x = MARGIN + (index / Math.max(numbers.length - 1, 1)) * (WIDTH - 2 * MARGIN);
        const y = HEIGHT - MARGIN - (value / highest) * (HEIGHT - 2 * MARGIN);
        return `${x.toFixed(1)},${y.toFixed(1)}`;
      })
      .join(' ');
  const label = `Actions by day: ${values.at(-1)?.toLocaleString()} today, at most ${Math.max(...values).toLocaleString()}`;
  return (
    <svg
      className="sparkline"
      role="img"
      aria-label={before ? `${label}; dashed: the period before` : label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      width={width}
      height={height}
    >
      {before && <polyline points={pointsOf(before)} className="before" vectorEffect="non-scaling-stroke" />}
      <polyline points={pointsOf(values)} vectorEffect="non-scaling-stroke" />
    </svg>
  );
};
