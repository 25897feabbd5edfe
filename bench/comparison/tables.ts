import { GOALS, type Goal } from './goals.ts';
import { KINDS } from './kinds.ts';
import type { Measurement } from './measuring.ts';
import type { Figures } from './summary.ts';

const HEAD = ['request', 'peer', 'a second', 'p50 ms', 'p99 ms', 'CPU ms: server', 'PostgreSQL', 'peak MB'];
const GOALS_HEAD = ['request', 'Steward', 'requests a second', 'for the same CPU', 'goal', ''];

/** Three digits, which is more than two runs agree in. */
const digits = (number: number): string => {
  // Of a database that is not ours nobody can tell what it uses.
  if (Number.isNaN(number)) return '?';
  return number >= 100 ? Math.round(number).toLocaleString('en-US') : String(Number(number.toPrecision(3)));
};

const table = (head: readonly string[], rows: readonly string[][]): string[] =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);

const nameOf = ({ kind, connections }: Figures): string => `${kind}, ${connections} at a time`;

const figureRow = (figures: Figures): string[] => [
  nameOf(figures),
  figures.peer,
  ...[figures.perSecond, figures.p50, figures.p99, figures.server, figures.postgres].map(digits),
  digits(Math.round(figures.peakMb)),
];

/** What each peer did. */
export const figuresTable = (all: readonly Figures[]): string[] => table(HEAD, all.map(figureRow));

type Finding = { what: string; is: number; forSameCpu?: number; goal: number | undefined; isMost: boolean };

/** Requests at a time of `one`, the second time. */
const CROWD = 32;

const findingsOf = (
  steward: Figures,
  others: readonly Figures[],
  one: Figures | undefined,
  goal: Goal,
): Finding[] => {
  const isCrowd = steward.connections === CROWD;
  const goals: Record<string, number | undefined> = isCrowd
    ? {}
    : { floor: goal.ofFloor, django: goal.ofDjango };
  const ratios = others.map(
    (other): Finding => ({
      what: `/ ${other.peer}`,
      is: steward.perSecond / other.perSecond,
      forSameCpu: (other.server + other.postgres) / (steward.server + steward.postgres),
      goal: goals[other.peer],
      isMost: false,
    }),
  );
  const floor = others.find(({ peer }) => peer === 'floor');
  const crowd: Finding = {
    what: 'p99 / floor',
    is: steward.p99 / (floor?.p99 ?? Number.NaN),
    goal: isCrowd && floor ? goal.crowdedP99OfFloor : undefined,
    isMost: true,
  };
  const ofOne: Finding = {
    what: '/ one by REST',
    is: steward.perSecond / (one?.perSecond ?? Number.NaN),
    goal: one && goal.ofOne,
    isMost: false,
  };
  const bounds: Finding[] = [
    crowd,
    ofOne,
    { what: 'first byte, ms', is: steward.firstByte, goal: goal.firstByteMs, isMost: true },
    { what: 'peak MB', is: steward.peakMb, goal: goal.peakMb, isMost: true },
    { what: 'p99 of light requests, ms', is: steward.besideP99, goal: goal.besideP99Ms, isMost: true },
  ];
  return [...ratios, ...bounds.filter((bound) => bound.goal !== undefined)];
};

const verdict = ({ is, goal, isMost }: Finding): string => {
  if (goal === undefined) return '';
  return (isMost ? is <= goal : is >= goal) ? 'met' : '**not met**';
};

/** How Steward stands to the others, and to what it is to reach. Goals are of requests a second, with as many at a time as usual. */
export const goalsTable = (all: readonly Figures[]): string[] => {
  const rows = all
    .filter(({ peer }) => peer === 'steward')
    .flatMap((steward) => {
      const kind = KINDS.find(({ name }) => name === steward.kind);
      const others = all.filter(
        ({ kind: name, connections, peer }) =>
          name === steward.kind && connections === steward.connections && peer !== 'steward',
      );
      const one = all.find((m) => m.peer === 'steward' && m.kind === 'one' && m.connections < CROWD);
      return findingsOf(steward, others, one, kind ? GOALS[kind.name] : {}).map((finding) => [
        nameOf(steward),
        finding.what,
        digits(finding.is),
        finding.forSameCpu === undefined ? '' : digits(finding.forSameCpu),
        finding.goal === undefined ? '' : `${finding.isMost ? '≤' : '≥'} ${finding.goal}`,
        verdict(finding),
      ]);
    });
  return table(GOALS_HEAD, rows);
};

/** What one request costs over different amounts of data: processor time of both, median, and the size of its answer. */
export const growthTable = (
  columns: readonly { name: string; measurements: readonly Measurement[] }[],
): string[] => {
  const kinds = [...new Set(columns.flatMap(({ measurements }) => measurements.map(({ kind }) => kind)))];
  const cell = (m: Measurement | undefined): string =>
    m ? `${digits(m.server + m.postgres)} ms CPU, p50 ${digits(m.p50)} ms, ${digits(m.kilobytes)} KB` : '';
  return table(
    ['request', ...columns.map(({ name }) => name)],
    kinds.map((kind) => [
      kind,
      ...columns.map(({ measurements }) => cell(measurements.find((found) => found.kind === kind))),
    ]),
  );
};
