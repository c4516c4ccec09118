import{modules as o}from"./64516.shared.js";import{modules as s}from"./45269.shared.js";const t=5269,d=[5269],m={...o,...s};export{t as id,d as ids,m as modules};
