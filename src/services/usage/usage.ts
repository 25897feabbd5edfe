import { sql } from 'kysely';
import { condition, type Em, kysely } from '../../db/kysely.ts';
import type { ListStream, OpenList, RowEncoder } from '../../db/list-pages.ts';
import { type PageRequest, reportCount } from '../../db/pagination.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { notFound } from '../../lib/problems.ts';
import { type Actor, requireLister } from '../access/actor.ts';
import { clientVisibleTo, type Viewer } from '../access/visibility.ts';
import { findUserId, readUserId } from '../accounts/addresses.ts';
import { requireViewableApp } from '../apps/app-rows.ts';
import { openListStream } from '../auth/open-list-stream.ts';
import type { UnitOfWork } from '../unit-of-work.ts';

/** The last entry of a page: the next page has older ones. */
export type UsageCursor = { occurredAt: Date; id: number };

/** An app, a user in an app, or a user in all apps whose usage the viewer may see. */
type UsageSubject =
  | { appId: string; person?: UsagePerson | undefined }
  | { appId?: undefined; person: UsagePerson; viewer: Viewer };

/** An account that the viewer sees, or the entries that were reported under an address. */
type UsagePerson = { userId: number } | { email: string };

export type UsageFilter = UsageSubject & {
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
  cursor?: EntryKey | undefined;
  /** The first and the last entry; null: there are none. */
  range?: { first: EntryKey; last: EntryKey } | null | undefined;
};

/** The time may be PostgreSQL's text, which keeps microseconds. */
type EntryKey = { occurredAt: Date | string; id: number };

type UsagePageFilter = Omit<UsageFilter, 'person' | 'viewer'> & {
  appId: string;
  email?: string | undefined;
  limit: number;
};

type UsageColumn = 'action_description' | 'email' | 'full_name' | 'timestamp' | 'action' | 'extra';
export type UsageEncoder = RowEncoder<UsageColumn>;

/** Usage of an app, of a user, or of a user in an app. */
export type UsageStreamFilter = { windowDays: number; appId?: string; email?: string };

/** Reads the usage log. Users and apps that the actor may not see are not found. */
export const createUsage = ({ em, clock, readList }: UnitOfWork) => ({
  /**
   * Streams the log of an app, newest first, optionally of one user; or the log of a user in all apps whose usage the actor may see. For a
   * page by number, its first and last entry are determined before it is read.
   * @throws Problem `not-found`, `forbidden`
   */
  stream: async (
    actor: Actor,
    { windowDays, appId, email }: UsageStreamFilter,
    { page }: PageRequest,
    encoder: UsageEncoder,
  ): Promise<ListStream> => {
    const since = new Date(clock.now().getTime() - windowDays * DAY_MS);
    const visibleTo = async (reader: Actor): Promise<UsageFilter> => {
      const person = email === undefined ? undefined : { userId: await readUserId(em, reader, email) };
      if (appId === undefined) {
        // Without the role, the rest of the list would be empty.
        requireLister(reader);
        return { person: person ?? NO_ONE, viewer: reader, since };
      }
      await requireViewableApp(em, reader, clock.now(), appId);
      return { appId, person, since };
    };
    const range = page && (await rangeOf(em, await visibleTo(actor), page));
    const open = async (reader: Actor) => openUsageList(em, { ...(await visibleTo(reader)), range }, encoder);
    return openListStream({ em, readList }, actor, open);
  },

  /**
   * One page of an app's log, newest first.
   * @throws Problem `not-found`, `forbidden`
   */
  page: async (actor: Actor, { limit, email, ...filter }: UsagePageFilter) => {
    await requireViewableApp(em, actor, clock.now(), filter.appId);
    const userId = email === undefined ? undefined : await findUserId(em, actor, email);
    // Entries may be about people without an account.
    const person = userId === undefined ? email && { email } : { userId };
    return readUsagePage(em, { ...filter, person: person || undefined }, limit);
  },

  /**
   * The latest entry of a user in an app.
   * @throws Problem `not-found`, also if there is no entry
   */
  latestOfUser: async (actor: Actor, email: string, appId: string) => {
    const userId = await readUserId(em, actor, email);
    await requireViewableApp(em, actor, clock.now(), appId);
    const newest = usageRows(em, { appId, person: { userId } }).limit(1);
    return newest.executeTakeFirstOrThrow(() => notFound('usage entry'));
  },
});

const NO_ONE: UsagePerson = { userId: 0 };

/** Limit per page; entries may be large. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024;

/** Newest first. */
export const usageRows = (em: Em, filter: UsageFilter) => {
  const { person, since, until, cursor, range } = filter;
  let rows = kysely(em)
    .selectFrom('usage_entries')
    .select(['id', 'action_description', 'email', 'full_name', 'occurred_at as timestamp', 'action', 'extra'])
    .where(isOfSubject(filter))
    .orderBy('occurred_at', 'desc')
    .orderBy('id', 'desc');
  if (person)
    rows =
      'userId' in person ? rows.where('user_id', '=', person.userId) : rows.where('email', '=', person.email);
  if (since) rows = rows.where('occurred_at', '>=', since);
  if (until) rows = rows.where('occurred_at', '<', until);
  if (cursor) {
    rows = rows
      // Lets the planner skip partitions, which the row comparison does not.
      .where(condition`occurred_at <= ${cursor.occurredAt}`)
      .where(condition`(occurred_at, id) < (${cursor.occurredAt}, ${cursor.id})`);
  }
  if (range === null) return rows.where(condition`false`);
  if (range) {
    const { first, last } = range;
    rows = rows
      .where(condition`occurred_at between ${last.occurredAt} and ${first.occurredAt}`)
      .where(
        condition`(occurred_at, id) between (${last.occurredAt}, ${last.id}) and (${first.occurredAt}, ${first.id})`,
      );
  }
  return rows;
};

/** The first and the last entry of a page by number; null if the page is empty. Entries may be large: the page is streamed between them. */
const rangeOf = async (em: Em, filter: UsageFilter, page: NonNullable<PageRequest['page']>) => {
  const rows = usageRows(em, filter);
  await reportCount(rows, { page });
  const keys = rows
    .clearSelect()
    .select(['occurred_at', 'id'])
    .limit(page.size)
    .offset((page.number - 1) * page.size);
  const end = (direction: 'asc' | 'desc') =>
    kysely(em)
      .selectFrom(keys.as('key'))
      .select(({ cast }) => ['id', cast<string>('occurred_at', 'text').as('occurredAt')])
      .orderBy('occurred_at', direction)
      .orderBy('id', direction)
      .limit(1)
      .executeTakeFirst();
  const [first, last] = await Promise.all([end('desc'), end('asc')]);
  return first && last ? { first, last } : null;
};

/** The client is looked up for each entry: given a list of apps, PostgreSQL might read all entries of the user and sort them. */
const isOfSubject = (subject: UsageSubject) =>
  subject.appId === undefined
    ? clientVisibleTo(
        subject.viewer,
        sql`(select apps.client_id from apps where apps.id = usage_entries.app_id)`,
      )
    : condition`app_id = ${subject.appId}`;

/**
 * Reads a page of at most `limit` entries with at most 4 MiB of `extra`, but at least one entry if there is any.
 * `next` is null for the last page.
 */
const readUsagePage = async (em: Em, filter: UsageFilter, limit: number) => {
  const limited = usageRows(em, filter).limit(limit);
  const measured = kysely(em)
    .selectFrom(limited.as('entry'))
    .selectAll()
    .select(({ fn }) => fn.countAll<number>().over().as('found'))
    .select(
      sql<number>`sum(length(extra::text)) over (order by timestamp desc, id desc) - length(extra::text)`.as(
        'before',
      ),
    );
  const rows = await kysely(em)
    .selectFrom(measured.as('entry'))
    .selectAll()
    .where('before', '<', MAX_PAGE_CHARACTERS)
    .orderBy('timestamp', 'desc')
    .orderBy('id', 'desc')
    .execute();
  const last = rows.at(-1);
  const isOver = !last || (rows.length === last.found && last.found < limit);
  return { rows, next: isOver ? null : { occurredAt: last.timestamp, id: last.id } };
};

/** Opens the usage log, newest first. */
const openUsageList = (em: Em, filter: UsageFilter, encoder: UsageEncoder): OpenList => ({
  encoder,
  page: (after, limit) =>
    usageRows(em, {
      ...filter,
      ...(after && { cursor: { occurredAt: after[0] ?? '', id: Number(after[1]) } }),
    })
      .clearSelect()
      .select(
        encoder.columns.map((name) =>
          sql.ref(name === 'timestamp' ? 'occurred_at' : name).as(`output_${name}`),
        ),
      )
      .select(['occurred_at', 'id'])
      .limit(limit),
});
