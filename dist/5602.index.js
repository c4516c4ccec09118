import{modules as o}from"./55602.shared.js";import{modules as s}from"./84554.shared.js";const t=5602,d=[5602],m={...o,...s};export{t as id,d as ids,m as modules};
