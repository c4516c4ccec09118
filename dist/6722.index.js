import{modules as o}from"./90277.shared.js";import{modules as s}from"./4341.shared.js";const t=6722,d=[6722,4341],m={...o,...s};export{t as id,d as ids,m as modules};
