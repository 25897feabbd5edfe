import { defineEntity, p } from '@mikro-orm/core';
import { Client } from './client.ts';
import { instant, uniqueIndex } from './columns.ts';
import { Group } from './group.ts';
import { User } from './user.ts';

const claim = (name: string) => p.string().length(100).default(name);

/**
 * How members of a client log in with its identity provider (OpenID Connect). Without a client: how superusers and staff log in with the
 * provider of the installation.
 */
export const SsoConnection = defineEntity({
  name: 'SsoConnection',
  tableName: 'sso_connections',
  indexes: [
    { properties: ['client'] },
    // At most one active connection per client: a verified domain leads to one provider.
    uniqueIndex('sso_connections_active', 'sso_connections (coalesce(client_id, 0)) where is_active'),
  ],
  properties: {
    id: p.integer().primary().autoincrement(),
    client: () => p.manyToOne(Client).nullable().deleteRule('cascade').updateRule('no action'),
    name: p.string().length(100),
    /** Identifies the provider, whose metadata is below this URL. */
    issuer: p.string().length(2048),
    /** What the provider calls this service: its `client_id`. */
    registeredAs: p.string().length(255),
    /** Encrypted with the secret key of the service, for this connection only. Null if the provider registered a public client. */
    sealedSecret: p.blob().nullable().hidden(),
    scopes: p.string().length(500),
    emailClaim: claim('email'),
    firstNameClaim: claim('given_name'),
    lastNameClaim: claim('family_name'),
    /** Empty: logins do not change groups. */
    groupsClaim: claim(''),
    /** By attribute of data permissions, the claim that states it. */
    attributeClaims: p.json<Record<string, string>>().columnType('json').defaultRaw(`'{}'`),
    /** A claim that only accounts of the organization have, and its required value. Empty: no check. */
    requiredClaim: claim(''),
    requiredValue: p.string().length(255).default(''),
    isActive: p.boolean().default(false),
    /** Whether memberships of the client count only in sessions of this connection. */
    isRequired: p.boolean().default(false),
    /** Whether a login creates people who have neither an account nor an invitation. */
    provisions: p.boolean().default(false),
    createdAt: instant(),
    /** The last complete test with this issuer and `client_id`; a connection without one cannot be active. */
    testedAt: instant().nullable(),
  },
});

/** A group that a connection adds people to: those whose groups claim has this value, or new people if the value is empty. */
export const SsoGroup = defineEntity({
  name: 'SsoGroup',
  tableName: 'sso_groups',
  properties: {
    connection: () => p.manyToOne(SsoConnection).primary().deleteRule('cascade').updateRule('no action'),
    group: () => p.manyToOne(Group).primary().index().deleteRule('cascade').updateRule('no action'),
    claimValue: p.string().length(255).primary(),
  },
});

/** A domain of email addresses that a client says it owns. A TXT record proves it. */
export const ClientDomain = defineEntity({
  name: 'ClientDomain',
  tableName: 'client_domains',
  indexes: [
    // Two clients may prove the same domain at the same time: one of them gets it.
    uniqueIndex(
      'client_domains_verified',
      'client_domains (domain) where verified_at is not null and lapsed_at is null',
    ),
  ],
  uniques: [{ properties: ['client', 'domain'] }],
  properties: {
    id: p.integer().primary().autoincrement(),
    /** Null: a domain of the installation. */
    client: () => p.manyToOne(Client).nullable().deleteRule('cascade').updateRule('no action'),
    domain: p.string().length(253),
    /** What the TXT record must contain. It is public. */
    token: p.string().length(43),
    createdAt: instant(),
    /** Null until it was proved for the first time. */
    verifiedAt: instant().nullable(),
    /** When the record was found missing; null while the proof is valid. */
    lapsedAt: instant().nullable(),
    /** The id of the superuser who vouched for the domain. Its record is not checked. */
    vouchedBy: p.integer().nullable(),
    /** The last answer of a name server. */
    checkedAt: instant().nullable(),
  },
});

/** Links a person at an identity provider with a user. */
export const ExternalIdentity = defineEntity({
  name: 'ExternalIdentity',
  tableName: 'external_identities',
  uniques: [{ properties: ['connection', 'subject'] }],
  properties: {
    id: p.integer().primary().autoincrement(),
    connection: () => p.manyToOne(SsoConnection).deleteRule('cascade').updateRule('no action'),
    user: () => p.manyToOne(User).index().deleteRule('cascade').updateRule('no action'),
    /** The claim `sub`: stable, unlike the address. */
    subject: p.string().length(255),
    /** The last address that the provider stated. */
    email: p.string().length(254),
    createdAt: instant(),
    lastLogin: instant().nullable(),
  },
});

/** A logout request of a provider: its token is accepted once. */
export const SsoLogout = defineEntity({
  name: 'SsoLogout',
  tableName: 'sso_logouts',
  properties: {
    connection: () => p.manyToOne(SsoConnection).primary().deleteRule('cascade').updateRule('no action'),
    /** SHA-256 of the claim `jti`. */
    digest: p.string().length(64).primary(),
    expiresAt: instant().index(),
  },
});
