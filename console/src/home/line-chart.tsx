import { dayText } from '../components/date-text.tsx';
import classes from './line-chart.module.css';

/** The height of the drawing; its width is 100. Both are stretched to their size on the screen. */
const HEIGHT = 100;
/** Of the labels below, so that they fit into a phone. */
const DAY_LABELS = 4;

type Point = { start: string; actions: number };
type Props = { points: Point[]; height: number };

/** Actions by day with a scale, as a picture of the table below it. */
export const LineChart = ({ points, height }: Props) => {
  const highest = Math.max(...points.map(({ actions }) => actions));
  const step = stepOf(highest);
  const lines = Array.from({ length: Math.ceil(highest / step) + 1 }, (_, index) => index * step);
  const top = lines.at(-1) ?? step;
  const yOf = (value: number): number => HEIGHT - (value / top) * HEIGHT;
  const line = points.map(({ actions }, index) => {
    const x = (index / Math.max(points.length - 1, 1)) * 100;
    return `${x.toFixed(2)},${yOf(actions).toFixed(2)}`;
  });
  return (
    <div
      role="img"
      aria-label={`Actions by day, at most ${highest.toLocaleString()}. The table below has the numbers.`}
      className={classes.chart}
    >
      <div className={classes.scale} style={{ height }}>
        {lines.map((value) => (
          <span key={value} style={{ top: `${yOf(value)}%` }}>
            {value.toLocaleString()}
          </span>
        ))}
      </div>
      <svg aria-hidden viewBox={`0 0 100 ${HEIGHT}`} preserveAspectRatio="none" width="100%" height={height}>
        {lines.map((value) => (
          <line key={value} x1="0" x2="100" y1={yOf(value)} y2={yOf(value)} className={classes.grid} />
        ))}
        <polygon className={classes.area} points={`0,${HEIGHT} ${line.join(' ')} 100,${HEIGHT}`} />
        <polyline className={classes.line} points={line.join(' ')} />
      </svg>
      <div className={classes.days}>
        {daysOf(points).map((day) => (
          <span key={day}>{dayText(day)}</span>
        ))}
      </div>
    </div>
  );
};

/** The distance between lines of the scale: 1, 2 or 5 times a power of ten, for at most five of them. */
const stepOf = (highest: number): number => {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest / 5, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => highest <= step * 5) ?? power;
};

/** Days at equal distances, with the first and the last. */
const daysOf = (points: Point[]): string[] => {
  const last = points.length - 1;
  const indexes = Array.from({ length: DAY_LABELS }, (_, nth) => Math.round((nth * last) / (DAY_LABELS - 1)));
  return [...new Set(indexes)].flatMap((index) => points[index]?.start ?? []);
};
