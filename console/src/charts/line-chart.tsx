import { Group, Text } from '@mantine/core';
import { type PointerEvent, useState } from 'react';
import classes from './line-chart.module.css';

/** The height of the drawing; its width is 100. Both are stretched to their size on the screen. */
const HEIGHT = 100;
/** At most as many labels below, so that they fit into a phone. */
const LABELS = 4;

export type Series = {
  /** `Actions` */
  name: string;
  kind: 'main' | 'before' | 'other';
  /** For each point a number, what it is of, such as a day, and that in short; the first series has as many points as the others. */
  points: readonly { label: string; axis: string; value: number }[];
  /** Whether the time of the last point has not ended: the way to it is dashed, and no drop. */
  isUnfinished?: boolean;
};

type Props = {
  /** What the chart shows, for screen readers: a table must have the numbers. */
  title: string;
  series: readonly [Series, ...Series[]];
  /** In pixels. */
  height: number;
};

/** Lines over time, from zero, with the numbers of the point below the pointer. */
export const LineChart = ({ title, series, height }: Props) => {
  const [pointed, setPointed] = useState<number | null>(null);
  const [main] = series;
  const last = Math.max(main.points.length - 1, 1);
  const highest = Math.max(0, ...series.flatMap(({ points }) => points.map(({ value }) => value)));
  const steps = stepsTo(highest);
  const top = steps.at(-1) ?? 1;
  const xOf = (index: number): number => (index / last) * 100;
  const yOf = (value: number): number => HEIGHT - (value / top) * HEIGHT;
  const onPointerMove = ({ currentTarget, clientX }: PointerEvent): void => {
    const { left, width } = currentTarget.getBoundingClientRect();
    setPointed(Math.min(Math.max(Math.round(((clientX - left) / width) * last), 0), main.points.length - 1));
  };
  return (
    <div>
      {series.length > 1 && <Legend series={series} />}
      <div role="img" aria-label={title} className={classes.chart}>
        <div className={classes.scale} style={{ height }}>
          {steps.map((value) => (
            <span key={value} style={{ top: `${yOf(value)}%` }}>
              {value.toLocaleString()}
            </span>
          ))}
        </div>
        <div
          className={classes.plot}
          onPointerMove={onPointerMove}
          onPointerDown={onPointerMove}
          onPointerLeave={() => setPointed(null)}
        >
          <svg
            aria-hidden
            viewBox={`0 0 100 ${HEIGHT}`}
            preserveAspectRatio="none"
            width="100%"
            height={height}
          >
            {steps.map((value) => (
              <line key={value} x1="0" x2="100" y1={yOf(value)} y2={yOf(value)} className={classes.grid} />
            ))}
            {series.map(({ name, kind, points, isUnfinished = false }) => {
              const places = points.map(({ value }, at) => `${xOf(at).toFixed(2)},${yOf(value).toFixed(2)}`);
              const ended = isUnfinished ? places.slice(0, -1) : places;
              const line = ended.join(' ');
              const end = xOf(ended.length - 1);
              return (
                <g key={name} className={classes[kind]}>
                  {kind === 'main' && <polygon points={`0,${HEIGHT} ${line} ${end},${HEIGHT}`} />}
                  <polyline points={line} />
                  {isUnfinished && (
                    <polyline className={classes.unfinished} points={places.slice(-2).join(' ')} />
                  )}
                </g>
              );
            })}
            {pointed !== null && (
              <line x1={xOf(pointed)} x2={xOf(pointed)} y1="0" y2={HEIGHT} className={classes.pointer} />
            )}
          </svg>
          {pointed !== null && <Numbers series={series} at={pointed} x={xOf(pointed)} />}
        </div>
        <div className={classes.labels}>
          {labelledOf(main).map((index) => (
            <span key={index} data-edge={edgeOf(index, last)} style={{ left: `${xOf(index)}%` }}>
              {main.points[index]?.axis}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
};

const Legend = ({ series }: { series: readonly Series[] }) => (
  <Group gap="md" aria-hidden>
    {series.map(({ name, kind }) => (
      <Group key={name} gap={6}>
        <svg width="20" height="2" className={classes[kind]} aria-hidden>
          <line x1="0" x2="20" y1="1" y2="1" />
        </svg>
        <Text size="xs" c="dimmed">
          {name}
        </Text>
      </Group>
    ))}
  </Group>
);

type NumbersProps = { series: readonly Series[]; at: number; x: number };

/** Beside the pointer, on the side with more room. */
const Numbers = ({ series, at, x }: NumbersProps) => (
  <div
    className={classes.numbers}
    data-side={x > 50 ? 'left' : 'right'}
    style={x > 50 ? { right: `${100 - x}%` } : { left: `${x}%` }}
  >
    {series.map(({ name, kind, points }) => (
      <div key={name} data-kind={kind}>
        <b>{points[at]?.value.toLocaleString()}</b> {name}, {points[at]?.label}
      </div>
    ))}
  </div>
);

/** From zero, at most six values whose distance is 1, 2 or 5 times a power of ten. The last is at least `highest`. */
const stepsTo = (highest: number): number[] => {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest / 5, 1)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => highest <= size * 5) ?? power;
  return Array.from({ length: Math.max(Math.ceil(highest / step), 1) + 1 }, (_, index) => index * step);
};

/** The points with a label below, at equal distances from the last one, which is the newest. */
const labelledOf = ({ points }: Series): number[] => {
  const step = Math.max(Math.ceil((points.length - 1) / (LABELS - 1)), 1);
  return points.flatMap((_, index) => ((points.length - 1 - index) % step === 0 ? index : []));
};

/** Labels of the outer points stay inside of the chart. */
const edgeOf = (index: number, last: number) => (index === 0 ? 'start' : index === last ? 'end' : undefined);
