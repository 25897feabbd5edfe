import { LockMode } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { Invitation } from '../../../entities/invitation.ts';
import { OutboxMail } from '../../../entities/outbox-mail.ts';
import type { Delivery, Mail } from '../../adapters/mail/mailer.ts';
import { deleteInBatches } from '../../db/deletion.ts';
import { condition, type Em, isAnyOf, kysely } from '../../db/kysely.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../../lib/clock.ts';
import { backoffOf } from '../outbox/queue-worker.ts';
import { type MailContext, mailContexts, mailRows, needsLink, UNMAILABLE } from './mail-context.ts';
import { isMailAddress } from './mail-layout.ts';
import { type MailOptions, passwordLinkLifetime } from './mail-variables.ts';
import type { MailWriter } from './mail-writer.ts';
import { claimMails, failObsolete, lockDue, MAX_BACKOFF_MS, nextDue } from './outbox-claims.ts';

/** Longer than any delivery attempt (120 s): a mail that is being sent must not be claimed again. */
const LEASE_MS = 150_000;

/** A weekend, and a day to notice that the mail server is broken. */
const MAX_AGE_MS = 3 * DAY_MS;
const LOCK = LockMode.PESSIMISTIC_WRITE;

type Deps = {
  /** Forked for each operation. */
  em: Em;
  clock: Clock;
  writer: MailWriter;
  invitationMs: number;
  leaseMs?: number;
  /** Days after which sent and failed mails are deleted. */
  retentionDays: number;
  /** Wait after the first failure. */
  backoffMs?: number;
};

export type Outbox = ReturnType<typeof createOutbox>;
export type ClaimedMail = MailContext;

/** Queue of mails (transactional outbox) for any number of workers in any number of instances. */
export const createOutbox = (deps: Deps) => {
  const { em, clock, writer, invitationMs, leaseMs = LEASE_MS, backoffMs = MINUTE_MS } = deps;
  const options = () => ({ now: clock.now(), invitationMs });

  /** Marks obsolete and undeliverable mails among these locked ones as failed. Returns the others. */
  const keepDeliverable = async (tx: Em, ids: number[]): Promise<MailContext[]> => {
    const mails = await mailContexts(tx, options())
      .where(isAnyOf('mail.id', ids, 'bigint'))
      .execute();
    const ended = mails.flatMap((mail) => {
      const reason = undeliverableReason(mail);
      return reason === null ? [] : [{ id: mail.id, reason }];
    });
    await failObsolete(tx, ended, clock.now());
    return mails.filter((mail) => undeliverableReason(mail) === null);
  };

  /** In a separate transaction, so that claiming mails does not hold its locks. */
  const createMissingLinks = (): Promise<number> =>
    em.fork().transactional(async (tx) => {
      const { ids, userIds } = await lockWithoutLink(tx);
      if (ids.length === 0) return 0;
      await createLinks(tx, { ids, userIds }, options());
      await keepDeliverable(tx, ids);
      return ids.length;
    });

  return {
    /** Claims up to `limit` mails. `found` also counts mails that are obsolete or undeliverable. */
    claim: async (limit: number): Promise<{ mails: ClaimedMail[]; found: number }> => {
      const linked = await createMissingLinks();
      return em.fork().transactional(async (tx) => {
        const now = clock.now();
        const ids = await lockDue(tx, { now, limit });
        const due = await keepDeliverable(tx, ids);
        const mails = await claimMails(tx, due, { now, leaseMs, senderOf: writer.senderOf });
        return { mails, found: linked + ids.length };
      });
    },

    /**
     * Creates the links of password mails without sending the mails, so that they can be read. Returns the number of mails that it found.
     */
    createLinks: createMissingLinks,

    write: (mail: ClaimedMail): Mail => writer.write(mail),

    /** Records the result of an attempt. If another worker has claimed the mail since, only a success counts. */
    recordDelivery: (mail: ClaimedMail, delivery: Delivery): Promise<void> =>
      em.fork().transactional(async (tx) => {
        const now = clock.now();
        // Locks the invitation first, as all other changes of an invitation do.
        const invitation =
          mail.invitation_id && (await tx.findOne(Invitation, mail.invitation_id, { lockMode: LOCK }));
        const stored = await tx.findOne(OutboxMail, { id: mail.id, sentAt: null }, { lockMode: LOCK });
        if (!stored) return;
        if (delivery.outcome === 'taken') {
          stored.send(now);
          // A reminder is not a new invitation, so it does not extend the invitation.
          if (invitation && mail.kind === 'invitation')
            // The end that the mail states.
            invitation.countMail(new Date(mail.variables.link_expires_at));
        } else if (stored.attempts === mail.attempts) {
          const isLast =
            delivery.outcome === 'refused' || now.getTime() - MAX_AGE_MS >= mail.created_at.getTime();
          const next = new Date(now.getTime() + backoffOf(mail.attempts, backoffMs, MAX_BACKOFF_MS));
          stored.fail(now, delivery.reason, isLast ? null : next);
        }
        await tx.flush();
      }),

    release: (mails: readonly ClaimedMail[]): Promise<void> =>
      em.fork().transactional(async (tx) => {
        for (const { id, attempts } of mails)
          (await tx.findOne(OutboxMail, { id, attempts, sentAt: null }, { lockMode: LOCK }))?.release(
            clock.now(),
          );
        await tx.flush();
      }),

    /** Deletes old mails and links. `isSent`: whether workers send mails, which also detects obsolete ones. */
    prune: async ({ isSent }: { isSent: boolean }): Promise<void> => {
      if (!isSent) await failAllObsolete(em.fork(), options());
      await pruneOutbox(em.fork(), clock.now(), deps.retentionDays);
    },

    /** Milliseconds until a mail can be sent; null if none is queued. */
    msUntilDue: async (): Promise<number | null> => {
      const due = await nextDue(em.fork());
      return due && due.getTime() - clock.now().getTime();
    },
  };
};

const undeliverableReason = ({ obsolete, recipient }: MailContext): string | null =>
  obsolete ?? (isMailAddress(recipient) ? null : UNMAILABLE);

/** Deletes mails that were sent or failed before the retention period, and expired links. */
const pruneOutbox = async (em: Em, now: Date, retentionDays: number): Promise<void> => {
  const before = new Date(now.getTime() - retentionDays * DAY_MS);
  await deleteInBatches(em, 'outbox_mails', sql`coalesce(sent_at, failed_at) < ${before}::timestamptz`);
  await deleteInBatches(
    em,
    'email_changes',
    sql`changed_at is null and requested_at <= ${before}::timestamptz`,
  );
  await deleteInBatches(em, 'password_links', sql`expires_at <= ${now}::timestamptz`);
};

/** Marks obsolete unsent mails as failed, for services without a mail server. */
const failAllObsolete = async (em: Em, options: MailOptions): Promise<void> => {
  const open = mailRows(em, options).where('mail.sent_at', 'is', null).where('mail.failed_at', 'is', null);
  const rows = await kysely(em)
    .selectFrom(open.as('open'))
    .select(['id', 'obsolete as reason'])
    .where('obsolete', 'is not', null)
    .$narrowType<{ reason: string }>()
    .execute();
  await failObsolete(em, rows, options.now);
};

/** Mails per transaction. */
const BATCH = 100;

type Unlinked = { ids: number[]; userIds: number[] };

/**
 * Locks up to a batch of mails without a link, skipping mails that another worker has locked, and before them the users to whom they are
 * sent. Revoking access locks in the same order when it ends links and changes mails, so that no link outlives the access.
 */
const lockWithoutLink = async (tx: Em): Promise<Unlinked> => {
  const db = kysely(tx);
  const unlinked = db.selectFrom('outbox_mails').select('id').where(needsLink).orderBy('id').limit(BATCH);
  const found = (await unlinked.execute()).map(({ id }) => id);
  if (found.length === 0) return { ids: [], userIds: [] };
  const users = await db
    .selectFrom('users')
    .select('id')
    .where(condition`id in (
      select user_id from outbox_mails where id = any(${found}::bigint[])
      union
      select person.id from outbox_mails mail join users person on person.email = mail.recipient
      where mail.id = any(${found}::bigint[]) and mail.kind = 'password-reset')`)
    .orderBy('id')
    .forShare()
    .execute();
  const mails = unlinked.where(isAnyOf('id', found, 'bigint'));
  const locked = await mails.forUpdate().skipLocked().execute();
  return { ids: locked.map(({ id }) => id), userIds: users.map(({ id }) => id) };
};

/**
 * Looks up the users of these locked mails and creates their links. Deletes reset mails to addresses without an active user. If a user has
 * got such an address since the users were locked, the mail waits for the next round.
 */
const createLinks = async (tx: Em, { ids, userIds }: Unlinked, options: MailOptions): Promise<void> => {
  const db = kysely(tx);
  const these = sql`any(${ids}::bigint[])`;
  const isLocked = sql`person.id = any(${userIds}::int[])`;
  await sql`
    update outbox_mails set user_id = person.id from users person
    where outbox_mails.id = ${these} and kind = 'password-reset' and user_id is null
      and person.email = recipient and person.is_active and ${isLocked}`.execute(db);
  await sql`
    delete from outbox_mails where id = ${these} and kind = 'password-reset' and user_id is null
      and not exists (select from users person
        where person.email = recipient and not ${isLocked})`.execute(db);

  // No link if the password was set after the request, or if a new user already has one.
  await sql`
    with wanted as (
      select mail.id, mail.user_id, mail.created_at + ${passwordLinkLifetime(options.invitationMs)} as expires_at,
        nextval(pg_get_serial_sequence('password_links', 'id')) as link_id
      from outbox_mails mail join users person on person.id = mail.user_id
      where mail.id = ${these} and mail.password_link_id is null and person.is_active
        and mail.created_at + ${passwordLinkLifetime(options.invitationMs)} > ${options.now}::timestamptz
        and case when mail.kind in ('password-setup', 'password-renewal') then person.password_hash is null
          else person.last_password_set <= mail.created_at end),
    made as (
      insert into password_links (id, user_id, created_at, expires_at)
      select link_id, user_id, ${options.now}::timestamptz, expires_at from wanted)
    update outbox_mails set password_link_id = wanted.link_id from wanted
    where outbox_mails.id = wanted.id`.execute(db);
};
