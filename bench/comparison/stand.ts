import type { Plan } from '../data/plan.ts';
import { openPlace, type Place } from '../usage/place.ts';
import { addCountedWindows } from './counted-windows.ts';
import { djangoVersions } from './django-peer.ts';
import { type Generator, startGenerator } from './generator.ts';
import type { Kind } from './kinds.ts';
import { bareOf, type Peer, type PeerName, startPeer, stewardAsPeer } from './peers.ts';
import { compareAnswers, type Sizes } from './sameness.ts';
import { type Samples, takeSamples } from './samples.ts';
import { keepState, type State } from './state.ts';

const NO_DJANGO =
  'django is left out: this machine lacks python3-django, -djangorestframework, -psycopg2 or gunicorn';

export type ChosenPeer = Exclude<PeerName, 'bare'>;

/** Servers over the same data, which have been found to answer the same. */
export type Stand = {
  place: Place;
  samples: Samples;
  state: State;
  generate: Generator;
  compared: { kind: Kind; sizes: Map<Peer, Sizes> }[];
  /** Of what others run on. */
  versions: string[];
};

type Options = {
  dataDir: string | undefined;
  plan: Plan;
  nodeOptions?: string;
  peers: readonly ChosenPeer[];
  kinds: readonly Kind[];
};

/**
 * Starts Steward and the others, and compares their answers.
 * @throws DifferentAnswers
 */
export const openStand = async (
  { dataDir, plan, nodeOptions = '', peers: names, kinds }: Options,
  say: (line: string) => void,
  closing: AsyncDisposableStack,
): Promise<Stand> => {
  const place = await openPlace({ dataDir, plan, nodeOptions }, closing);
  const samples = await takeSamples(place.database);
  const emails = samples.members.map(({ email }) => email);
  const state = await keepState(place.database, emails);
  const versions = names.includes('django') ? await djangoVersions() : null;
  await addCountedWindows(place, closing);
  const peers: Peer[] = [stewardAsPeer(place)];
  for (const name of names) {
    if (name === 'django' && versions === null) say(NO_DJANGO);
    else if (name !== 'steward') {
      const peer = await startPeer(name, { place, samples }, closing);
      peers.push(...(name === 'floor' ? [peer, bareOf(peer)] : [peer]));
    }
  }

  const compared: Stand['compared'] = [];
  for (const kind of kinds) {
    const able = peers.filter((peer) => peer.dialectFor(kind));
    compared.push({ kind, sizes: await compareAnswers(kind, able, { samples, state, token: place.token }) });
    if (able.length > 1)
      say(`${kind.name}: the same answers from ${able.map(({ name }) => name).join(', ')}`);
  }
  const generate = startGenerator(closing);
  return { place, samples, state, generate, compared, versions: versions === null ? [] : [versions] };
};
