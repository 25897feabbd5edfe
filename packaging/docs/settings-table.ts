import { z } from 'zod';
import { Settings } from '../../src/config/settings.ts';
import { markdownTable } from './markdown.ts';

type ValueSchema = {
  type?: string;
  format?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  default?: unknown;
};

/** The settings of docs/settings.md, one table row each. */
export const settingsTable = (): string => markdownTable(['Variable', 'Type', 'Default', 'Meaning'], rows());

/** Settings without a description belong to the AWS client, which documents them. */
const rows = (): string[][] =>
  Object.entries(Settings.shape).flatMap(([name, setting]) => {
    const { description, valueType, defaultText } = setting.meta() ?? {};
    if (typeof description !== 'string') return [];
    const schema: ValueSchema = JSON.parse(
      JSON.stringify(z.toJSONSchema(setting, { io: 'output', unrepresentable: 'any' })),
    );
    const type = String(valueType ?? typeOf(schema));
    return [[`\`${name}\``, type, String(defaultText ?? defaultOf(schema)), description]];
  });

const typeOf = ({ type, format, enum: values, minimum, maximum, default: value }: ValueSchema): string => {
  if (values) return values.map((value) => `\`${value}\``).join(', ');
  if (typeof value === 'boolean') return '`1` or `0`';
  if (type === 'number') return `integer, ${count(minimum)} to ${count(maximum)}`;
  if (format === 'uri') return 'URL';
  return format === 'email' ? 'email address' : 'string';
};

const defaultOf = ({ default: value }: ValueSchema): string => {
  if (value === undefined) return 'none';
  return `\`${typeof value === 'boolean' ? Number(value) : String(value)}\``;
};

const count = (value = 0): string => value.toLocaleString('en');
