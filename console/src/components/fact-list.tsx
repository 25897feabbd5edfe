import { Box, type BoxProps } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './fact-list.module.css';

export type Fact = [label: string, value: ReactNode];

type Props = BoxProps & { facts: readonly Fact[] };

/** The facts of a record, each with its label above it. */
export const FactList = ({ facts, className = '', ...box }: Props) => (
  <Box component="dl" className={`${classes.facts} ${className}`} {...box}>
    {facts.map(([label, value]) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </Box>
);
