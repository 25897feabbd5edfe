import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { Client } from './client.ts';
import { index, instant, jsonObject, uniqueIndex } from './columns.ts';
import { Group } from './group.ts';
import { User } from './user.ts';

export const INVITATION_STATUSES = ['pending', 'accepted', 'expired', 'revoked'] as const;
export type InvitationStatus = (typeof INVITATION_STATUSES)[number];

/** An invitation to join a client. A pending invitation past `expiresAt` counts as expired. */
export const InvitationSchema = defineEntity({
  name: 'Invitation',
  tableName: 'invitations',
  indexes: [
    uniqueIndex('invitations_one_pending', `invitations (client_id, email) where status = 'pending'`),
    index('invitations_pending_expiry', `invitations (expires_at) where status = 'pending'`),
    { properties: ['email'] },
    { properties: ['userId'] },
    { properties: ['inviter', 'id'] },
    { properties: ['client', 'id'] },
  ],
  properties: {
    id: p.integer().primary().autoincrement(),
    client: () => p.manyToOne(Client).deleteRule('cascade').updateRule('no action'),
    email: p.string().length(254).check(`email = lower(email) and email <> ''`),
    key: p.string().length(64).unique(),
    /** As the inviter stated them; the invitee may choose others. */
    firstName: p.string().length(150).default(''),
    lastName: p.string().length(150).default(''),
    inviter: () => p.manyToOne(User).deleteRule('restrict').updateRule('no action'),
    extra: jsonObject(),
    isDemoUser: p.boolean().default(false),
    status: p.enum(INVITATION_STATUSES).default('pending'),
    dateInvited: instant(),
    expiresAt: instant(),
    /** When the grants of its apps end; null if they have no end. */
    appsExpireAt: instant().nullable(),
    /** Names of the roles that the invitee gets in the client. */
    roles: p.array().columnType('text[]').defaultRaw(`'{}'`),
    /** The account that gives them: it must still be allowed to when the invitation is accepted. */
    rolesBy: p.integer().nullable(),
    /** When the invitee was reminded, which happens once. */
    remindedAt: instant().nullable(),
    /** Time of acceptance or revocation. */
    closedAt: instant().nullable(),
    /** The account that accepted it. */
    userId: p.integer().nullable(),
    /** Whether someone has read the link in Steward. If so, its use does not prove that the mailbox belongs to the person. */
    isLinkShown: p.boolean().default(false),
    /** Mails that the mail server has accepted. Queued mails do not count. */
    emailCount: p.integer().default(0).check('email_count >= 0'),
  },
});

export class Invitation extends InvitationSchema.class {
  isOpen(now: Date): boolean {
    return this.status === 'pending' && this.expiresAt > now;
  }

  /** @returns false if it is closed or has expired */
  accept(now: Date): boolean {
    if (!this.isOpen(now)) return false;
    this.status = 'accepted';
    this.closedAt = now;
    return true;
  }

  /** Also renews an invitation that has expired but was not replaced. Returns false if it is closed. */
  renew(expiresAt: Date): boolean {
    if (this.status !== 'pending') return false;
    this.expiresAt = expiresAt;
    return true;
  }

  /** The mail server has accepted a mail of the invitation, which extends the invitation until `expiresAt`. */
  countMail(expiresAt: Date): void {
    this.emailCount += 1;
    if (this.status === 'pending' && this.expiresAt < expiresAt) this.expiresAt = expiresAt;
  }

  /** Returns false if it is already accepted or revoked. */
  revoke(now: Date): boolean {
    if (this.status === 'accepted' || this.status === 'revoked') return false;
    this.status = 'revoked';
    this.closedAt = now;
    return true;
  }
}
InvitationSchema.setClass(Invitation);

/** An app that the invitee gets access to on acceptance. */
export const InvitationApp = defineEntity({
  name: 'InvitationApp',
  tableName: 'invitation_apps',
  properties: {
    invitation: () => p.manyToOne(Invitation).primary().deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).primary().index().deleteRule('cascade').updateRule('no action'),
  },
});

/** A group that the invitee joins on acceptance. */
export const InvitationGroup = defineEntity({
  name: 'InvitationGroup',
  tableName: 'invitation_groups',
  properties: {
    invitation: () => p.manyToOne(Invitation).primary().deleteRule('cascade').updateRule('no action'),
    group: () => p.manyToOne(Group).primary().index().deleteRule('cascade').updateRule('no action'),
  },
});
