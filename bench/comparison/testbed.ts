import type { Plan } from '../data/plan.ts';
import { type Environment, openEnvironment } from '../environment.ts';
import { type DatabaseState, keepDatabaseState } from './database-state.ts';
import {
  djangoVersions,
  minimalPeerOf,
  type Peer,
  type StartedPeer,
  startPeer,
  stewardPeer,
} from './peers.ts';
import { compareResponses } from './response-equivalence.ts';
import { type Samples, takeSamples } from './samples.ts';
import type { Scenario } from './scenarios.ts';

const NO_DJANGO =
  'Skipping django: install python3-django, python3-djangorestframework, python3-psycopg2 and gunicorn.';

/** Servers over the same data, verified to respond equally. */
export type Testbed = {
  environment: Environment;
  samples: Samples;
  state: DatabaseState;
  scenarios: { scenario: Scenario; peers: Peer[] }[];
  /** Versions of what other peers run on. */
  versions: string[];
};

type Options = {
  dataDir: string | undefined;
  plan: Plan;
  nodeOptions?: string;
  peers: readonly StartedPeer[];
  scenarios: readonly Scenario[];
};

/**
 * Starts Steward and the other peers, and compares their responses.
 * @throws ResponsesDiffer
 */
export const openTestbed = async (
  { dataDir, plan, nodeOptions = '', peers: names, scenarios }: Options,
  printLine: (line: string) => void,
  cleanup: AsyncDisposableStack,
): Promise<Testbed> => {
  const environment = await openEnvironment({ dataDir, plan, nodeOptions }, cleanup);
  const { database, token } = environment;
  const samples = await takeSamples(database);
  const state = await keepDatabaseState(
    database,
    samples.members.map(({ email }) => email),
  );
  const versions = names.includes('django') ? await djangoVersions() : null;
  await createWindowsView(environment, cleanup);
  const peers = [stewardPeer(environment)];
  for (const name of names) {
    if (name === 'steward') continue;
    if (name === 'django' && versions === null) {
      printLine(NO_DJANGO);
      continue;
    }
    const peer = await startPeer(name, { environment, samples }, cleanup);
    peers.push(...(name === 'baseline' ? [peer, minimalPeerOf(peer)] : [peer]));
  }

  const compared: Testbed['scenarios'] = [];
  for (const scenario of scenarios) {
    const able = peers.filter((peer) => peer.protocolFor(scenario));
    await compareResponses(scenario, able, { samples, state, token });
    compared.push({ scenario, peers: able });
    if (able.length > 1) {
      printLine(`${scenario.name}: equal responses from ${able.map(({ name }) => name).join(', ')}`);
    }
  }
  return { environment, samples, state, scenarios: compared, versions: versions === null ? [] : [versions] };
};

const windowColumns = (days: number): string => {
  const isInWindow = `today - day < ${days}`;
  return `coalesce(sum(actions) filter (where ${isInWindow}), 0)::int as actions${days},
    coalesce(sum(retention_histogram[${days} - (today - day)]) filter (where ${isInWindow}), 0)::int as users${days}`;
};

/** Computes from 90 daily rows per app what Steward keeps in `usage_windows`: the usual way to query rollups. */
const WINDOWS_VIEW = `create view bench_peers.counted_windows as
  select app_id, today as day, ${[30, 60, 90].map(windowColumns).join(', ')}
  from usage_app_days, (select (now() at time zone 'UTC')::date as today) as clock
  where day > today - 90 and day <= today
  group by app_id, today`;

const createWindowsView = async ({ database }: Environment, cleanup: AsyncDisposableStack): Promise<void> => {
  await database.query('drop schema if exists bench_peers cascade; create schema bench_peers');
  await database.query(WINDOWS_VIEW);
  // Peers connect with Steward's role, which is no superuser.
  await database.query(
    'grant usage on schema bench_peers to public; grant select on bench_peers.counted_windows to public',
  );
  cleanup.defer(async () => {
    await database.query('drop schema bench_peers cascade');
  });
};
