import { JsonInput, type JsonInputProps } from '@mantine/core';
import { OBJECT_FAULT } from './json-object.ts';

/** The text of a JSON object. `objectFault` determines which texts are valid. */
export const ObjectInput = (props: JsonInputProps) => (
  <JsonInput autosize minRows={2} maxRows={12} validationError={OBJECT_FAULT} {...props} />
);
