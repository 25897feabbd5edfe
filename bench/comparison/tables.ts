import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { median } from './load.ts';
import type { Measurement } from './measure.ts';
import { MAX_PEAK_MB, MAX_START_MS, SCENARIOS } from './scenarios.ts';

/** Medians over all rounds. */
export type Figures = Omit<Measurement, 'round'>;

const NUMBERS = ['perSecond', 'p50', 'p99', 'serverCpu', 'postgresCpu', 'peakMb', 'probeP99'] as const;

/** Groups measurements by scenario and peer, in the order in which they were first measured. */
export const summarize = (measurements: readonly Measurement[]): Figures[] => {
  const groups = Map.groupBy(measurements, ({ scenario, peer }) => `${scenario} ${peer}`);
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
  if (Number.isNaN(number)) return '';
  return number >= 100 ? Math.round(number).toLocaleString('en-US') : String(Number(number.toPrecision(3)));
};

const markdownTable = (head: readonly string[], rows: readonly string[][]): string[] =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);

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
    all.map((m) => [
      m.scenario,
      m.peer,
      ...[m.perSecond, m.p50, m.p99, m.serverCpu, m.postgresCpu, Math.round(m.peakMb)].map(format),
    ]),
  );

type Row = {
  scenario: string;
  measure: string;
  value: number;
  /** What a ratio is at equal CPU time: it decides. */
  atEqualCpu?: number;
  goal: number | undefined;
  isMaximum?: true;
};

const cpuOf = ({ serverCpu, postgresCpu }: Figures): number => serverCpu + postgresCpu;

/** Steward's ratios to the other peers in one scenario, and its bounds. */
const rowsOf = (steward: Figures, all: readonly Figures[]): Row[] => {
  const { scenario } = steward;
  const { minOfBefore, minOfDjango, minOfTrpc, minPerSecond, maxProbeP99Ms } =
    SCENARIOS.find(({ name }) => name === scenario)?.goal ?? {};
  const goals: Record<string, number | undefined> = {
    before: minOfBefore,
    django: minOfDjango,
    trpc: minOfTrpc,
  };
  const others = all.filter((other) => other.scenario === scenario && other.peer !== 'steward');
  const ratios = others.map((other) => ({
    scenario,
    measure: `/ ${other.peer}`,
    value: steward.perSecond / other.perSecond,
    atEqualCpu: cpuOf(other) / cpuOf(steward),
    goal: goals[other.peer],
  }));
  const bounds: Row[] = [
    { scenario, measure: 'per second', value: steward.perSecond, goal: minPerSecond },
    {
      scenario,
      measure: 'p99 of /healthz, ms',
      value: steward.probeP99,
      goal: maxProbeP99Ms,
      isMaximum: true,
    },
  ];
  return [...ratios, ...bounds.filter(({ goal }) => goal !== undefined)];
};

const verdictOf = ({ value, atEqualCpu = value, goal, isMaximum }: Row): string => {
  if (goal === undefined) return '';
  return (isMaximum ? atEqualCpu <= goal : atEqualCpu >= goal) ? 'met' : '**not met**';
};

const GOALS_HEAD = ['scenario', 'Steward', 'value', 'at equal CPU', 'goal', 'result'];

/** Compares Steward with the other peers and with its goals. */
export const goalsTable = (all: readonly Figures[], startMs: number): string[] => {
  const ofSteward = all.filter(({ peer }) => peer === 'steward');
  const rows: Row[] = [
    ...ofSteward.flatMap((steward) => rowsOf(steward, all)),
    {
      scenario: 'all',
      measure: 'peak MB',
      value: Math.max(...ofSteward.map(({ peakMb }) => peakMb)),
      goal: MAX_PEAK_MB,
      isMaximum: true,
    },
    { scenario: 'start', measure: 'ms', value: startMs, goal: MAX_START_MS, isMaximum: true },
  ];
  return markdownTable(
    GOALS_HEAD,
    rows.map((row) => [
      row.scenario,
      row.measure,
      format(row.value),
      format(row.atEqualCpu ?? Number.NaN),
      row.goal === undefined ? '' : `${row.isMaximum ? '≤' : '≥'} ${row.goal.toLocaleString('en-US')}`,
      verdictOf(row),
    ]),
  );
};

const DATE_FORMAT = { day: 'numeric', month: 'long', year: 'numeric' } as const;

/** The date, the machine and the versions with which tables were measured. */
export const describeMachine = (versions: readonly string[]): string => {
  const parts = [
    `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${availableParallelism()} cores`,
    `${Math.round(totalmem() / 1e9)} GB`,
    `Node ${process.versions.node}`,
    ...versions,
  ];
  return `${new Date().toLocaleDateString('en-GB', DATE_FORMAT)}: ${parts.join(', ')}.`;
};

const DOCUMENT = join(import.meta.dirname, '../../docs/benchmarks.md');

/** Writes the tables of this command into docs/benchmarks.md. */
export const writeTables = async (lines: readonly string[], command = 'npm run bench'): Promise<void> =>
  writeFile(DOCUMENT, replaceTables(await readFile(DOCUMENT, 'utf8'), lines, command));

/** Replaces the text of a document between the two markers of the command. */
const replaceTables = (document: string, lines: readonly string[], command = 'npm run bench'): string => {
  const begin = `<!-- begin: ${command} -- --write -->`;
  const end = `<!-- end: ${command} -- --write -->`;
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The document lacks the markers ${begin} and ${end}.`);
  return [document.slice(0, from) + begin, '', ...lines, '', document.slice(to)].join('\n');
};
