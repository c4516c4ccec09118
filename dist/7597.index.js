import{modules as o}from"./67597.shared.js";import{modules as s}from"./9277.shared.js";const t=7597,d=[7597],m={...o,...s};export{t as id,d as ids,m as modules};
