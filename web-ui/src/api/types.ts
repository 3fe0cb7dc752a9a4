import type { components } from "./schema";

type Schemas = components["schemas"];

export type Snapshot = Schemas["Snapshot"];
export type SessionEntry = Schemas["SessionEntry"];
export type Original = Schemas["Original"];
export type Originals = Schemas["Originals"];
export type OriginalPart = Original["parts"][number];
export type CallPart = Schemas["CallPart"];
export type ResultPart = Schemas["ResultPart"];
export type Checkpoint = Schemas["Checkpoint"];
export type Receipt = Schemas["Receipt"];
export type Approval = Schemas["ApprovalRequested"];
export type Live = Schemas["Live"];
export type SessionEvent = Schemas["EventFrame"]["event"];
export type Problem = Schemas["Problem"];
export type PermissionPreset = Snapshot["permissionPreset"];
export type ImageBody = Schemas["ImageBody"];
export type Breakdown = Schemas["ContextShares"];
export type Usage = Schemas["Usage"];
