import { Group, Text } from '@mantine/core';
import { type PointerEvent, useState } from 'react';
import classes from './line-chart.module.css';

/** The height of the drawing; its width is 100. Both are stretched to their size on the screen. */
const HEIGHT = 100;
/** Maximum number of labels below the chart, so that they fit on a phone. */
const LABELS = 4;

export type Series = {
  /** Such as `Actions`. */
  name: string;
  kind: 'main' | 'before' | 'line1' | 'line2' | 'line3' | 'line4' | 'line5';
  /**
   * For each point: a number, its label (such as a day), and a short label for the axis. The first series has at least as many points as
   * the others.
   */
  points: readonly { label: string; axis: string; value: number }[];
  /** Whether the period of the last point has not ended: the line to it is dashed, because it is not a real drop. */
  isUnfinished?: boolean;
};

type Props = {
  /** The description of the chart for screen readers. A table must contain the numbers. */
  title: string;
  series: readonly [Series, ...Series[]];
  /** In pixels. */
  height: number;
};

/** Lines over time, starting at zero, with the numbers of the point below the pointer. */
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

/** Next to the pointer, on the side with more room. */
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

/** At most six values from zero on, at intervals of 1, 2 or 5 times a power of ten. The last value is at least `highest`. */
const stepsTo = (highest: number): number[] => {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest / 5, 1)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => highest <= size * 5) ?? power;
  return Array.from({ length: Math.max(Math.ceil(highest / step), 1) + 1 }, (_, index) => index * step);
};

/** The points with a label, at equal distances from the last one, which is the newest. */
const labelledOf = ({ points }: Series): number[] => {
  const step = Math.max(Math.ceil((points.length - 1) / (LABELS - 1)), 1);
  return points.flatMap((_, index) => ((points.length - 1 - index) % step === 0 ? index : []));
};

/** Labels of the outermost points stay inside the chart. */
const edgeOf = (index: number, last: number) => (index === 0 ? 'start' : index === last ? 'end' : undefined);
