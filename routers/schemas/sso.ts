import { z } from 'zod';
import { AttributeKey } from '../../src/services/attributes/attribute-schema.ts';
import { recordName, recordValue } from '../../src/services/clients/domains.ts';
import { providerPaths } from '../../src/services/sso/connections.ts';
import type { Context } from '../context.ts';
import { changesOf, Name, Text } from './fields.ts';
import { GroupIds, Id } from './keys.ts';
import { Instant, Output } from './outputs.ts';

const MAX_MAPPED_GROUPS = 200;

const MappedGroup = z.object({ claim: Name(255), group: Id });

export const ConnectionOutput = Output('SsoConnection', {
  id: z.int(),
  /** Null: the installation. */
  client: z.int().nullable(),
  name: z.string(),
  issuer: z.string(),
  client_id: z.string(),
  has_secret: z.boolean(),
  scopes: z.string(),
  email_claim: z.string(),
  first_name_claim: z.string(),
  last_name_claim: z.string(),
  groups_claim: z.string(),
  attribute_claims: z.record(z.string(), z.string()),
  required_claim: z.string(),
  required_value: z.string(),
  is_active: z.boolean(),
  is_required: z.boolean(),
  provisions: z.boolean(),
  /** Ids of the groups to which a login adds the people whom it creates. */
  default_groups: z.array(z.int()),
  group_mapping: z.array(z.object({ claim: z.string(), group: z.int() })),
  /** How many people have logged in with it. */
  people: z.int(),
  created_at: Instant,
  tested_at: Instant.nullable(),
  /** The URL to enter at the provider. */
  redirect_uri: z.string(),
  backchannel_logout_uri: z.string(),
  frontchannel_logout_uri: z.string(),
  post_logout_redirect_uri: z.string(),
  /** Starts a login. */
  initiate_login_uri: z.string(),
});

const HttpUrl = z.url({ protocol: /^https?$/ });

/** Empty in a connection whose registration at the provider is not finished. */
const Issuer = z
  .string()
  .trim()
  .max(2048)
  .refine((text) => text === '' || HttpUrl.safeParse(text).success, {
    error: 'Must be an https:// address.',
    abort: true,
  })
  .refine((text) => !/[?#]/.test(text), 'Must have no query and no fragment.')
  .transform((text) => text.replace(/\/\.well-known\/openid-configuration$/, ''));

const Scopes = z
  .string()
  .trim()
  .max(500)
  .regex(
    /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/,
    'Must be words, separated by single spaces.',
  )
  .refine((text) => text.split(' ').includes('openid'), 'Must contain openid.');

const Claim = Text(100).trim();

const MAX_MAPPED_ATTRIBUTES = 100;

/** By attribute of data permissions, the claim that states it at each login. */
const AttributeClaims = z
  .record(AttributeKey, Name(100))
  .refine(
    (claims) => Object.keys(claims).length <= MAX_MAPPED_ATTRIBUTES,
    `Must have at most ${MAX_MAPPED_ATTRIBUTES}.`,
  );

/** The fields of a new connection. */
export const connectionFields = {
  name: Name(100),
  issuer: Issuer.default(''),
  client_id: Text(255).trim().default(''),
  client_secret: Name(1024).nullable().default(null),
  scopes: Scopes.default('openid email profile'),
  email_claim: Name(100).default('email'),
  first_name_claim: Claim.default('given_name'),
  last_name_claim: Claim.default('family_name'),
  groups_claim: Claim.default(''),
  attribute_claims: AttributeClaims.default({}),
  required_claim: Claim.default(''),
  required_value: Text(255).default(''),
  provisions: z.boolean().default(false),
  default_groups: GroupIds.default([]),
  group_mapping: z.array(MappedGroup).max(MAX_MAPPED_GROUPS).default([]),
};

/** The fields of a changed connection. */
export const connectionChanges = {
  ...changesOf(connectionFields).shape,
  is_active: z.boolean().optional(),
  is_required: z.boolean().optional(),
};

export const connectionOutput =
  ({ baseUrl }: Context) =>
  <Connection extends { id: number }>(connection: Connection) => ({
    ...connection,
    ...providerPaths(baseUrl, connection.id),
  });

export const DomainOutput = Output('ClientDomain', {
  id: z.int(),
  /** Null: the installation. */
  client: z.int().nullable(),
  domain: z.string(),
  /** The TXT record that proves the domain. */
  record_name: z.string(),
  record_value: z.string(),
  created_at: Instant,
  verified_at: Instant.nullable(),
  /** Since when the record is missing. */
  lapsed_at: Instant.nullable(),
  vouched_by: z.string().nullable(),
  checked_at: Instant.nullable(),
});

export const domainOutput = <Domain extends { domain: string; token: string }>(domain: Domain) => ({
  ...domain,
  record_name: recordName(domain),
  record_value: recordValue(domain),
});
