import { median } from './load.ts';
import type { Measurement } from './measure.ts';
import { type Goal, MANY_CONNECTIONS, SCENARIOS } from './scenarios.ts';

/** Medians over all rounds. */
export type Figures = Omit<Measurement, 'round'>;

const NUMBERS = [
  'callsPerSecond',
  'p50',
  'p99',
  'firstByte',
  'serverCpu',
  'postgresCpu',
  'peakMb',
  'kilobytes',
  'probeP99',
] as const;

/** Groups measurements by scenario, connections and peer, in the order in which they were first measured. */
export const summarize = (measurements: readonly Measurement[]): Figures[] => {
  const groups = Map.groupBy(measurements, (m) => `${m.scenario} ${m.connections} ${m.peer}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { round: _, ...figures } = first;
    for (const name of NUMBERS) figures[name] = median(group.map((measurement) => measurement[name]));
    return [figures];
  });
};

/** Three significant digits: runs do not agree in more. */
const format = (number: number): string => {
  if (Number.isNaN(number)) return '?';
  return number >= 100 ? Math.round(number).toLocaleString('en-US') : String(Number(number.toPrecision(3)));
};

const markdownTable = (head: readonly string[], rows: readonly string[][]): string[] =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);

const titleOf = ({ scenario, connections }: Figures): string =>
  `${scenario}, ${connections} connection${connections === 1 ? '' : 's'}`;

const FIGURES_HEAD = [
  'scenario',
  'peer',
  'per second',
  'p50 ms',
  'p99 ms',
  'CPU ms: server',
  'PostgreSQL',
  'peak MB',
];

export const figuresTable = (all: readonly Figures[]): string[] =>
  markdownTable(
    FIGURES_HEAD,
    all.map((figures) => [
      titleOf(figures),
      figures.peer,
      ...[figures.callsPerSecond, figures.p50, figures.p99, figures.serverCpu, figures.postgresCpu].map(
        format,
      ),
      format(Math.round(figures.peakMb)),
    ]),
  );

type Row = {
  measure: string;
  value: number;
  valueByCpu?: number;
  goal: number | undefined;
  isMaximum?: true;
};

const ratioRows = (steward: Figures, others: readonly Figures[], goal: Goal): Row[] => {
  const isDefault = steward.connections !== MANY_CONNECTIONS;
  const goals: Record<string, number | undefined> = {
    baseline: goal.minOfBaseline,
    django: goal.minOfDjango,
  };
  return others.map((other) => ({
    measure: `/ ${other.peer}`,
    value: steward.callsPerSecond / other.callsPerSecond,
    valueByCpu: (other.serverCpu + other.postgresCpu) / (steward.serverCpu + steward.postgresCpu),
    goal: isDefault ? goals[other.peer] : undefined,
  }));
};

const boundRows = (
  steward: Figures,
  baseline: Figures | undefined,
  one: Figures | undefined,
  goal: Goal,
): Row[] => {
  const hasManyConnections = steward.connections === MANY_CONNECTIONS;
  const rows: Row[] = [
    {
      measure: 'p99 / baseline',
      value: steward.p99 / (baseline?.p99 ?? Number.NaN),
      goal: hasManyConnections && baseline ? goal.maxP99OfBaseline : undefined,
      isMaximum: true,
    },
    {
      measure: '/ one over REST',
      value: steward.callsPerSecond / (one?.callsPerSecond ?? Number.NaN),
      goal: one && goal.minOfOne,
    },
    { measure: 'first byte, ms', value: steward.firstByte, goal: goal.maxFirstByteMs, isMaximum: true },
    { measure: 'peak MB', value: steward.peakMb, goal: goal.maxPeakMb, isMaximum: true },
    {
      measure: 'p99 of light requests, ms',
      value: steward.probeP99,
      goal: goal.maxProbeP99Ms,
      isMaximum: true,
    },
  ];
  return rows.filter((row) => row.goal !== undefined);
};

const verdictOf = ({ value, goal, isMaximum }: Row): string => {
  if (goal === undefined) return '';
  return (isMaximum ? value <= goal : value >= goal) ? 'met' : '**not met**';
};

const GOALS_HEAD = ['scenario', 'metric', 'value', 'ratio at equal CPU', 'goal', 'result'];

/** Compares Steward with the other peers and with its goals, which are for the default number of connections. */
export const goalsTable = (all: readonly Figures[]): string[] => {
  const ofSteward = all.filter(({ peer }) => peer === 'steward');
  const one = ofSteward.find((m) => m.scenario === 'one' && m.connections < MANY_CONNECTIONS);
  const rows = ofSteward.flatMap((steward) => {
    const goal = SCENARIOS.find(({ name }) => name === steward.scenario)?.goal ?? {};
    const others = all.filter(
      ({ scenario, connections, peer }) =>
        scenario === steward.scenario && connections === steward.connections && peer !== 'steward',
    );
    const baseline = others.find(({ peer }) => peer === 'baseline');
    return [...ratioRows(steward, others, goal), ...boundRows(steward, baseline, one, goal)].map((row) => [
      titleOf(steward),
      row.measure,
      format(row.value),
      row.valueByCpu === undefined ? '' : format(row.valueByCpu),
      row.goal === undefined ? '' : `${row.isMaximum ? '≤' : '≥'} ${row.goal}`,
      verdictOf(row),
    ]);
  });
  return markdownTable(GOALS_HEAD, rows);
};

/** CPU time of service and PostgreSQL, latency and size of one call, by amount of data. */
export const growthTable = (
  columns: readonly { name: string; measurements: readonly Measurement[] }[],
): string[] => {
  const scenarios = [
    ...new Set(columns.flatMap(({ measurements }) => measurements.map(({ scenario }) => scenario))),
  ];
  const cell = (m: Measurement | undefined): string =>
    m
      ? `${format(m.serverCpu + m.postgresCpu)} ms CPU, p50 ${format(m.p50)} ms, ${format(m.kilobytes)} KB`
      : '';
  return markdownTable(
    ['scenario', ...columns.map(({ name }) => name)],
    scenarios.map((scenario) => [
      scenario,
      ...columns.map(({ measurements }) => cell(measurements.find((m) => m.scenario === scenario))),
    ]),
  );
};
