import {
  type Attribute,
  COMMON_ATTRIBUTES,
  ENTERPRISE_ATTRIBUTES,
  ENTERPRISE_USER,
  GROUP,
  GROUP_ATTRIBUTES,
  GROUP_TYPE,
  type ResourceType,
  USER,
  USER_ATTRIBUTES,
  USER_TYPE,
} from '../../lib/scim/attributes.ts';
import { MAX_COUNT } from './messages.ts';

/** What directories can ask about this service (RFC 7643, 5 to 7). */

export const MAX_BULK_OPERATIONS = 1_000;
export const MAX_BODY_BYTES = 4 * 1024 * 1024;

const SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0';

export const serviceProviderConfig = (base: string) => ({
  schemas: [`${SCHEMA}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: true, maxOperations: MAX_BULK_OPERATIONS, maxPayloadSize: MAX_BODY_BYTES },
  filter: { supported: true, maxResults: MAX_COUNT },
  changePassword: { supported: false },
  sort: { supported: true },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Token of a service account',
      description: 'A token with the scope scim, of a service account of the client.',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
});

const resourceType = (base: string, { name, core, extensions }: ResourceType, description: string) => ({
  schemas: [`${SCHEMA}:ResourceType`],
  id: name,
  name,
  endpoint: `/${name}s`,
  description,
  schema: core,
  schemaExtensions: Object.keys(extensions).map((schema) => ({ schema, required: false })),
  meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
});

export const resourceTypes = (base: string) => [
  resourceType(base, USER_TYPE, 'A person whom the directory provisions to the client.'),
  resourceType(base, GROUP_TYPE, 'A group of the client.'),
];

const schemaOf = (base: string, id: string, name: string, attributes: readonly Attribute[]) => ({
  schemas: [`${SCHEMA}:Schema`],
  id,
  name,
  description: name,
  attributes: attributes.map(describe),
  meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
});

const describe = ({ subAttributes, ...attribute }: Attribute): object => ({
  ...attribute,
  description: attribute.name,
  ...(attribute.type === 'reference' && { referenceTypes: ['external'] }),
  ...(subAttributes && { subAttributes: subAttributes.map(describe) }),
});

/** Directories look for it in the schemas, although it is common to all (RFC 7643, 3.1). */
const STATED = COMMON_ATTRIBUTES.filter(({ name }) => name === 'externalId');

export const schemas = (base: string) => [
  schemaOf(base, USER, 'User', [...STATED, ...USER_ATTRIBUTES]),
  schemaOf(base, GROUP, 'Group', [...STATED, ...GROUP_ATTRIBUTES]),
  schemaOf(base, ENTERPRISE_USER, 'Enterprise User', ENTERPRISE_ATTRIBUTES),
];
