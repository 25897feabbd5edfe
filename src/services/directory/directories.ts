import { sql } from 'kysely';
import { type Em, kysely } from '../../db/kysely.ts';
import type { CursorPageRequest } from '../../db/pagination.ts';
import { isServiceAddress } from '../../lib/email-address.ts';
import { canonicalJson } from '../../lib/json-value.ts';
import { invalid, notFound, Problem, scopeRequired } from '../../lib/problems.ts';
import { findAttribute, type Resource, USER_TYPE } from '../../lib/scim/attributes.ts';
import { DIRECTORY_SCOPE } from '../access/action-scopes.ts';
import { type Actor, requireConfirmedSession } from '../access/actor.ts';
import { diffColumns, isEmpty, ofClient } from '../audit/audit.ts';
import { readManagedClient } from '../clients/clients.ts';
import type { UnitOfWork } from '../unit-of-work.ts';
import { applyDue, forgetDue, markDue } from './apply-due.ts';
import {
  type ChangeQuery,
  type GroupChangeRow,
  groupChangeRows,
  type PersonChangeRow,
  personChangeRows,
  readChanges,
  readCounts,
} from './changes.ts';
import {
  type ActingDirectory,
  actingFor,
  type DirectorySettings,
  lockSettings,
  readSettings,
} from './directory-rows.ts';
import { extraOf } from './person-facts.ts';
import { type ReceivedRequest, readRequests } from './request-log.ts';

/** Rows that are read together. */
const BATCH = 500;

type SettingsChange = {
  mode?: DirectorySettings['mode'] | undefined;
  attributes?: Record<string, string> | undefined;
  /** The memberships that may be suspended or ended: not more than the caller has seen. */
  ends?: number | undefined;
};

/** How directories provision the people of clients: settings, what they would change, and what they have sent. */
export const createDirectories = (unit: UnitOfWork) => {
  const { em, clock, audit, baseUrl, directoryRequests } = unit;

  const read = async (db: Em, client: number) => {
    const settings = await readSettings(db, client);
    return {
      client,
      address: `${baseUrl}/scim/v2/${client}`,
      ...settings,
      ...(await readCounts(db, client, clock.now())),
    };
  };

  return {
    /** @throws Problem `not-found`, `forbidden` */
    get: async (actor: Actor, client: number) => {
      await readManagedClient(em, actor, client, 'configure');
      await directoryRequests.flush();
      return read(em, client);
    },

    /**
     * Changes the settings. With the mode `apply`, also if it is set already, everything that the directory has stated is applied, in the
     * background.
     * @throws Problem `not-found`, `forbidden`, `reauthentication-required`, `precondition-failed`, `invalid-input` on `attributes`
     */
    update: (actor: Actor, client: number, changes: SettingsChange) =>
      em.transactional(async (tx) => {
        const now = clock.now();
        const row = await readManagedClient(tx, actor, client, 'configure');
        requireConfirmedSession(actor, now);
        requireKnownPaths(changes.attributes);
        const before = await lockSettings(tx, client);
        const { mode = before.mode, attributes = before.attributes } = changes;
        await kysely(tx)
          .updateTable('directories')
          .set({ mode, attributes: sql`${JSON.stringify(attributes)}::json` })
          .where('client_id', '=', client)
          .execute();
        if (canonicalJson(attributes) !== canonicalJson(before.attributes))
          await mapAgain(tx, client, attributes);
        if (mode === 'show') await forgetDue(tx, client);
        else await markDue(tx, client, now, { isWhole: changes.mode === 'apply' });
        const { ends = 0 } = changes;
        if (changes.mode === 'apply' && (await readCounts(tx, client, now)).ends > ends)
          throw new Problem('precondition-failed', MORE_ENDS);
        const details = diffColumns(before, { mode, attributes }, ['mode', 'attributes']);
        const about = { actor, target: ofClient(row), clients: [client] };
        if (!isEmpty(details)) await audit.record(tx, [{ action: 'directory.update', ...about, details }]);
        return read(tx, client);
      }),

    /**
     * People or groups that are not as the directory states them, by id.
     * @throws Problem `not-found`, `forbidden`
     */
    listPeople: async (actor: Actor, client: number, query: ChangeQuery): Promise<PersonChangeRow[]> => {
      await readManagedClient(em, actor, client, 'configure');
      return readChanges(personChangeRows(em, client, clock.now()), query);
    },

    /** @throws Problem `not-found`, `forbidden` */
    listGroups: async (actor: Actor, client: number, query: ChangeQuery): Promise<GroupChangeRow[]> => {
      await readManagedClient(em, actor, client, 'configure');
      return readChanges(groupChangeRows(em, client), query);
    },

    /**
     * The last requests of the directory, newest first.
     * @throws Problem `not-found`, `forbidden`
     */
    requests: async (actor: Actor, client: number, page: CursorPageRequest) => {
      await readManagedClient(em, actor, client, 'configure');
      await directoryRequests.flush();
      return readRequests(em, client, page);
    },

    record: (request: ReceivedRequest): void => directoryRequests.record(request),

    /**
     * The directory that a caller speaks for. A person's token has no scope for this, however wide it is.
     * @throws Problem `insufficient-scope` for callers who are no directory, `not-found` for the address of another client
     */
    speakFor: (caller: Actor, client: number | null): ActingDirectory => {
      const { actions, only } = caller.scope;
      if (!isServiceAddress(caller.email) || !actions?.includes(DIRECTORY_SCOPE))
        throw scopeRequired(`${DIRECTORY_SCOPE}, of a service account`);
      if (client === null || only !== client) throw notFound('directory');
      return actingFor(client, caller, caller);
    },

    applyDue: (): Promise<number> => applyDue(unit),
  };
};

const MORE_ENDS = {
  detail:
    'More memberships would be suspended or ended than `ends` says. Look at the changes again, and send their number.',
};

/** @throws Problem `invalid-input` on `attributes` */
const requireKnownPaths = (attributes: Record<string, string> | undefined): void => {
  const unknown = Object.values(attributes ?? {}).filter((path) => {
    const found = findAttribute(USER_TYPE, path);
    const { attribute, sub } = found ?? {};
    const isStated = [attribute, sub].every((each) => each?.mutability !== 'readOnly');
    return !attribute || attribute.returned === 'never' || !isStated;
  });
  if (unknown.length > 0)
    throw invalid({ attributes: unknown.map((path) => `Users have no attribute ${path}.`) });
};

/** Computes `extra` of all people by other attributes. */
const mapAgain = async (tx: Em, client: number, attributes: Record<string, string>): Promise<void> => {
  let after = '';
  for (;;) {
    const people = await kysely(tx)
      .selectFrom('directory_people')
      .select(['id', 'resource'])
      .where('client_id', '=', client)
      .where('id', '>', after)
      .orderBy('id')
      .limit(BATCH)
      .execute();
    const last = people.at(-1);
    if (!last) return;
    after = last.id;
    const mapped = people.map(({ id, resource }) => ({
      id,
      extra: extraOf(resource as Resource, attributes),
    }));
    await sql`
      update directory_people d set extra = mapped.extra
      from json_to_recordset(${JSON.stringify(mapped)}::json) as mapped (id varchar, extra json)
      where d.id = mapped.id`.execute(kysely(tx));
  }
};
