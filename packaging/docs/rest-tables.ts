import { openApiDocument } from '../../src/http/openapi/document.ts';
import { type Endpoint, endpointOf, REST_ENDPOINTS } from '../../src/http/rest/endpoints.ts';
import { markdownTable } from './markdown.ts';

type BodySchema = {
  $ref?: string;
  oneOf?: BodySchema[];
  properties?: Record<string, unknown>;
  required?: string[];
};
type RequestBody = { content: Record<string, { schema: BodySchema }> };
type Operation = {
  summary: string;
  parameters?: { name: string; in: string; required: boolean }[];
  requestBody?: RequestBody;
};
/** The parts of the OpenAPI document that the tables show. */
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, BodySchema> };
};

const PAGING = ['page', 'page_size', 'cursor', 'limit'];
const API_PREFIX = '/api/v1';
const HEAD = ['Request', 'Input', 'Role', 'tRPC', 'Does'];

/** The tables of docs/rest.md: paths of the replaced service first, then Steward's extensions, then aliases. */
export const restTables = (): string => {
  const document: Document = JSON.parse(JSON.stringify(openApiDocument('')));
  const table = (isLegacy: boolean): string => {
    const endpoints = REST_ENDPOINTS.filter(
      ({ rest, isAlias }) => !isAlias && (rest.legacy ?? false) === isLegacy,
    );
    return markdownTable(
      HEAD,
      endpoints.map((endpoint) => rowOf(endpoint, document)),
    );
  };
  const own = `### Paths of the replaced service\n\n${table(true)}`;
  const added = `### Paths added by Steward\n\n${table(false)}`;
  const aliases = REST_ENDPOINTS.filter(({ isAlias }) => isAlias);
  const aliasTable = markdownTable(['Request', 'Same as', 'tRPC'], aliases.map(aliasRow));
  return `${own}\n\n${added}\n\n### Aliases\n\n${ABOUT_ALIASES}\n\n${aliasTable}`;
};

const ABOUT_ALIASES =
  'Later versions of the replaced service have these paths. Those of `/api/v2` are written in full.';

const aliasRow = (endpoint: Endpoint): string[] => {
  const { procedure } = endpoint;
  return [requestOf(endpoint), requestOf(endpointOf(procedure)), `\`${procedure}\``];
};

/** `GET /jb/users/{email}/` */
const requestOf = ({ method, url }: Endpoint): string => {
  const path = pathOf(url);
  return `\`${method} ${path.startsWith(`${API_PREFIX}/`) ? path.slice(API_PREFIX.length) : path}\``;
};

const pathOf = (url: string): string => url.replaceAll(/:(\w+)/g, '{$1}');

const rowOf = (endpoint: Endpoint, document: Document): string[] => {
  const { method, url, procedure } = endpoint;
  const path = pathOf(url);
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`${method} ${path} is not in the OpenAPI document.`);
  return [
    requestOf(endpoint),
    inputOf(operation, document),
    callersOf(endpoint),
    `\`${procedure}\``,
    operation.summary,
  ];
};

/** Who may call a path, in one word each: the head of docs/rest.md explains them. */
const CALLERS: Record<string, string> = {
  'client admin or superuser': 'admin',
  'client admin, staff or superuser': 'viewer',
  'staff or superuser': 'staff',
};

const callersOf = ({ isPublic, role }: Endpoint): string => {
  if (isPublic) return 'public';
  return role === undefined ? 'user' : (CALLERS[role] ?? role);
};

/** Query parameters as `?name`, then the fields of the body. Required ones end with `!`. */
const inputOf = ({ parameters = [], requestBody }: Operation, document: Document): string => {
  const query = parameters.filter((parameter) => parameter.in === 'query' && parameter.name !== 'format');
  const hasPages = PAGING.every((key) => query.some(({ name }) => name === key));
  const asked = query.filter(({ name }) => !(hasPages && PAGING.includes(name)));
  const { fields, isList } = bodyFields(requestBody, document);
  const names = [...asked.map(({ name, required }) => named(`?${name}`, required)), ...fields].join(' ');
  const parts = [names && `\`${names}\``, hasPages && 'pages', isList && 'or an array of these objects'];
  return parts.filter(Boolean).join(', ') || '–';
};

const bodyFields = (requestBody: RequestBody | undefined, document: Document) => {
  const schema = resolved(requestBody?.content['application/json']?.schema, document);
  const [single] = schema.oneOf ?? [];
  const { properties = {}, required = [] } = single ? resolved(single, document) : schema;
  const fields = Object.keys(properties).map((name) => named(name, required.includes(name)));
  return { fields, isList: single !== undefined };
};

const resolved = (schema: BodySchema = {}, document: Document): BodySchema => {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (document.components.schemas[name] ?? {});
};

const named = (name: string, isRequired: boolean): string => (isRequired ? `${name}!` : name);
